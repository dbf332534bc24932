namespace a { template <class T> void f(std::vector<T> &v) {
#pragma MICP enable v, bytes(b), ::n::x
  do { auto l = [&](int k) { return R"z(})z"[k]; }; 
#pragma MICP enable w
  while (l(1)) { 
#pragma MICP ckpt
} 
#pragma MICP ckpt
  } while (x--);
} }
