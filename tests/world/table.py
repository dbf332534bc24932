#!/usr/bin/env python3
"""Every function of MPI 3.1 that takes a communicator, a group, a request or a message is in the layer's table, and what the table says to be
wrapped is: so no call reaches MPI with what stands for the world before a repair.
usage: table.py SOURCE_DIR MPICC"""
import re
import subprocess
import sys

source, mpicc = sys.argv[1:]
text = subprocess.run([mpicc, "-E", "-x", "c", "-"], input="#include <mpi.h>\n", capture_output=True, text=True, check=True, timeout=60).stdout
text = re.sub(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)", "", re.sub(r"(?m)^#.*$", "", text))
table = re.findall(r"(?m)^SK_([A-Z_]+)\((\w+)", open(source + "/src/world/functions.def").read())
names = [name for _, name in table]
bad = [name + " is twice in the table" for name in sorted(set(names)) if names.count(name) > 1]
handles = re.compile(r"\bMPI_(Comm|Group|Request|Message)\b")
# newer than MPI 3.1: tools, sessions, partitioned and persistent collectives, counts of another type, buffers of communicators
newer = re.compile(r"_c$|^T_|^Session_|^P(send|recv|ready|arrived)|_init$|^Comm_(idup_with_info|create_from_group)|^Group_from|^Intercomm_create_from|^Isendrecv|^Remove_|^Comm_(toint|fromint)|^Status_"
    r"|_i?flush_buffer$|^Buffer_i?flush$|^(Comm|Session)_(at|de)tach_buffer$|^Request_get_status_(all|any|some)$")
old = {"Send_init", "Ssend_init", "Rsend_init", "Bsend_init", "Recv_init"}
# for Fortran and debuggers, what is kept at a communicator (also under the names of MPI 1), and MPI's own callbacks
left = re.compile(r"(_f2c|_c2f|_keyval)$|create_errhandler|^Attr_|_fn$|_function$|^(Handler|Keyval)")
seen = 0
for name, arguments in re.findall(r"\bint\s+MPI_(\w+)\s*\(([^;{}]*)\)\s*;", text):
    if not handles.search(arguments) or (newer.search(name) and name not in old) or left.search(name):
        continue
    seen += 1
    if name not in names:
        bad.append("MPI_" + name + " takes a communicator, group, request or message, and is not in src/world/functions.def")
files = "".join(open(source + "/src/world/" + f + ".c").read() for f in ("begin", "messages", "wait", "probe", "collective", "comms/asked", "comms/attributes", "comms/between", "comms/make", "log/lasting", "log/later/later", "log/later/neighbours"))
for kind, name in table:
    made_by = r"(SK_WRAP|SEND|BEGIN_SEND|ASK|PLACE|INIT)\(" + name + r"\b|PAIR\((\w+, )?" + name + r"\b"
    if kind == "OWN" and not re.search(made_by, files):
        bad.append(name + " is to be wrapped by hand, and is not")
if seen < 150:
    bad.append("only %d functions were found in mpi.h: is it read as it should be?" % seen)
print("%d functions, %d in the table" % (seen, len(names)))
print("\n".join(bad))
sys.exit(bool(bad))
