void f(void) {
#pragma MICP enable bytes(q// a
}
