"""Where a C file may be changed, and to what: the mutants of one file.

Only lines inside of functions count, and of these not what is said to people (logs, the words of errors), what checks the program
itself (assert), and what a test without sanitizers cannot see: memory given back, how far an array grows, and locks. `make check`
looks for those with the sanitizers. Nor does the mode count of a file that is opened and not made: the system does not look at it.
"""
import re

# Calls whose arguments from the n-th on are words for people; the call itself is not removed when n is 0.
WORDS = {"sk_log": 0, "sk_fail": 2, "sk_fail_errno": 2, "sk_error_prefix": 0, "assert": 0, "static_assert": 0, "_Static_assert": 0,
         "printf": 0, "fprintf": 0, "tell": 0}
UNSEEN = re.compile(r"^(free|free_\w+|\w+_free|closedir|pthread_mutex_\w+|pthread_cond_init|pthread_cond_destroy|sk_threads_lock"
                    r"|sk_threads_unlock|sk_log|sk_error_prefix|sk_error_clear|assert|madvise|posix_fadvise|static_assert|printf|fprintf"
                    r"|va_start|va_end)$")
SPACED = {  # operators between two operands, written with a space on both sides
    "+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"], "%": ["*"], "+=": ["-="], "-=": ["+="], "*=": ["/="], "|=": ["&="], "&=": ["|="],
    "&&": ["||"], "||": ["&&"], "&": ["|"], "|": ["&"], "<<": [">>"], ">>": ["<<"],
    "<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="], ">=": [">", "<"], "==": ["!="], "!=": ["=="],
}
COMPARISONS = {"<", "<=", ">", ">=", "==", "!="}
KEYWORDS = {"if", "for", "while", "switch", "return", "sizeof", "do", "else", "case", "goto", "break", "continue", "default"}
ERRORS = ("SAIKAI_EIO", "SAIKAI_EINVAL")


class Mutant:
    """One change of one file: text[start:end] becomes `new`."""

    def __init__(self, kind, start, end, new):
        self.kind, self.start, self.end, self.new = kind, start, end, new
        self.line = 0

    def apply(self, text):
        return text[:self.start] + self.new + text[self.end:]


def mask(text):
    """The text with comments, strings and preprocessor lines blanked, every place kept."""
    out = list(text)

    def blank(a, b, keep=""):
        for i in range(a, b):
            if out[i] != "\n":
                out[i] = keep or " "

    token = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
    for m in token.finditer(text):
        if m.group().startswith("/"):
            blank(m.start(), m.end())
        else:
            blank(m.start() + 1, m.end() - 1, "x")
    masked = "".join(out)
    for m in re.finditer(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", masked, re.M):
        blank(m.start(), m.end())
    return "".join(out)


def closing(masked, at):
    """Where the bracket that opens at `at` is closed."""
    pairs, depth = {"(": ")", "[": "]", "{": "}"}, 0
    for i in range(at, len(masked)):
        if masked[i] in pairs:
            depth += 1
        elif masked[i] in pairs.values():
            depth -= 1
            if not depth:
                return i
    return len(masked) - 1


def functions(masked):
    """(start, end) of each function's body, braces left out."""
    found, at = [], 0
    while True:
        at = masked.find("{", at)
        if at < 0:
            return found
        end = closing(masked, at)
        if re.search(r"\)\s*$", masked[:at]):
            found.append((at + 1, end))
        at = end + 1


def not_code(masked):
    """Ranges that are no behaviour: words for people, the sizes of arrays, and how far one that is full grows
    (too far is not seen, not far enough is for the sanitizers to see)."""
    ranges = []
    for m in re.finditer(r"\b(%s)\(" % "|".join(WORDS), masked):
        end, commas, depth, start = closing(masked, m.end() - 1), 0, 0, m.end()
        if WORDS[m.group(1)]:
            start = end
            for i in range(m.end(), end):
                depth += masked[i] in "([{"
                depth -= masked[i] in ")]}"
                commas += masked[i] == "," and not depth
                if commas == WORDS[m.group(1)]:
                    start = i
                    break
        ranges.append((start, end))
    declared = r"^[ \t]*(?:static |const |unsigned |struct |enum |_Thread_local |__thread )*\w+ [\w\s,*=\"\[\]]*?\[([^\]]*)\]"
    for m in re.finditer(declared, masked, re.M):
        if m.group().split()[0] not in KEYWORDS:
            ranges.append((m.start(1), m.end(1)))
            rest = re.match(r"(?:, \*?\w+(?:\[[^\]]*\])?)*", masked[m.end():])  # further names of the same declaration
            ranges += [(m.end() + k.start(1), m.end() + k.end(1)) for k in re.finditer(r"\[([^\]]*)\]", rest.group())]
    for m in re.finditer(r"([\w*.>-]+) \? 2 \* \1 : [^;)]+|\bcap\w* = [\w.>-]+ \* 2 \+ \w+;|\bcap\w* = ([\w.>-]+) \+ \2 / 2 \+ \w+;", masked):
        ranges.append((m.start(), m.end()))
    for m in re.finditer(r"\bO_(?:RDONLY|WRONLY|RDWR)(?: \| O_(?!CREAT)\w+)*, (0),", masked):
        ranges.append((m.start(1), m.end(1)))
    for m in re.finditer(r"\bfor \(", masked):  # a step the other way never ends: nothing is learnt from it
        end = closing(masked, m.end() - 1)
        ranges.append((masked.rfind(";", m.end(), end), end))
    return ranges


def statements(masked, start, end):
    """(start, end) of the simple statements of a body, the semicolon included."""
    begun, i = start, start
    while i < end:
        c = masked[i]
        if c in "({[" and (c != "{" or re.search(r"[=,(]\s*$", masked[begun:i])):
            i = closing(masked, i) + 1
            head = masked[begun:i].strip()
            if c == "(" and re.match(r"(if|for|while|switch)\b", head) and head.count("(") == head.count(")"):
                begun = i
            continue
        if c in "{}":
            begun = i + 1
        elif c == ";":
            a = begun + len(masked[begun:i]) - len(masked[begun:i].lstrip())
            word = re.match(r"(else|do)\s+", masked[a:i])
            yield a + (word.end() if word else 0), i + 1
            begun = i + 1
        elif c == ":" and re.match(r"\s*(case\b[^?]*|default\s*|\w+\s*)$", masked[begun:i]):
            begun = i + 1
        i += 1


def of_statement(masked, a, b):
    s = masked[a:b]
    call = re.match(r"(?:\(void\)\s*)?([\w.>-]+)\s*\(", s)
    if call and closing(masked, a + call.end() - 1) == b - 2:
        name = re.split(r"[.>]", call.group(1))[-1]
        if name not in KEYWORDS and not UNSEEN.match(name):
            yield Mutant("removed", a, b, ";")
    elif re.match(r"[\w.\[\]>*()+-]+ [-+*/|&^%]?= ", s) or re.match(r"(\+\+|--)?[\w.\[\]>-]+(\+\+|--)?;", s):
        if not re.match(r"(return|break|continue|goto)\b", s):
            yield Mutant("removed", a, b, ";")
    answer = re.match(r"return ([^;]*);$", s, re.S)
    if answer:
        what = answer.group(1)
        if what == "0":
            yield Mutant("returned", a, b, "return SAIKAI_EIO;")
            yield Mutant("returned", a, b, "return 1;")
        elif re.match(r"[-\w]+$", what) and what != "NULL":
            yield Mutant("returned", a, b, "return 0;")
        for m in re.finditer(r"\bSAIKAI_E[A-Z]+\b", what):
            at = a + answer.start(1) + m.start()
            yield Mutant("returned", at, at + len(m.group()), ERRORS[m.group() == ERRORS[0]])


def of_tokens(masked, start, end):
    for m in re.finditer(r"(?<=\s)(\+=|-=|\*=|\|=|&=|&&|\|\||<<|>>|<=|>=|==|!=|[-+*/%&|<>])(?=\s)", masked[start:end]):
        kind = "comparison" if m.group() in COMPARISONS else "operator"
        for new in SPACED[m.group()]:
            yield Mutant(kind, start + m.start(), start + m.end(), new)
    for m in re.finditer(r"\+\+|--", masked[start:end]):
        yield Mutant("operator", start + m.start(), start + m.end(), "--" if m.group() == "++" else "++")
    number = r"(?<![\w.])(\d+\.\d*(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+|0[xX][0-9a-fA-F]+|\d+)([uUlLfF]*)(?![\w.])"
    for m in re.finditer(number, masked[start:end]):
        a, b, text = start + m.start(), start + m.end(), m.group(1)
        if re.fullmatch(r"0[xX].*|\d+", text):
            form, base = ("0x%x", 16) if text[:2] in ("0x", "0X") else ("0%o", 8) if text[0] == "0" and text != "0" else ("%d", 10)
            value = int(text, base)
            before = masked[:a].rstrip()[-2:]
            new = [value - 1] if value else []
            says_no = value == 1 and masked[a - 1] == "-"  # "-1" is one word, as a flag is 0 or 1
            if not says_no and (value != 1 or re.search(r"[-+*/%<>=]$", before) and not re.search(r"(?<![<>=!])=$", before)):
                new.append(value + 1)
            if masked[a - 1] == "{" and masked[b] == "}" and not value:  # {0} is nothing at all
                continue
            if before.endswith("rn") and re.search(r"\breturn$", masked[:a].rstrip()) and masked[b] == ";":
                continue  # see of_statement
            for n in new:
                yield Mutant("constant", a, b, form % n + m.group(2))
        else:
            yield Mutant("constant", a, b, "(%s + 1)" % m.group())
    for m in re.finditer(r"\b(if|while) \(", masked[start:end]):
        a = start + m.end() - 1
        b = closing(masked, a)
        yield Mutant("negated", a, b + 1, "(!" + masked[a:b + 1] + ")")


def mutants(text):
    """{line: [Mutant…]} of a file, lines from 1."""
    masked = mask(text)
    out_of_bounds, found = not_code(masked), {}
    for start, end in functions(masked):
        every = list(of_tokens(masked, start, end))
        for a, b in statements(masked, start, end):
            every += of_statement(masked, a, b)
        for m in every:
            if any(a <= m.start < b for a, b in out_of_bounds):
                continue
            if m.kind == "negated":
                m.new = "(!" + text[m.start:m.end] + ")"
            m.line = text.count("\n", 0, m.start) + 1
            found.setdefault(m.line, []).append(m)
    return found
