# What HPCCG gets (main.cpp and HPCCG.cpp): five pragmas.
/^ *MPI_Init(/a\
#pragma MICP init
/^  for(int k=1;/i\
#pragma MICP enable x(0:nrow-1), p(0:ncol-1), r(0:nrow-1), rtrans, normr, niters
/^ *niters = k;/a\
#pragma MICP ckpt
/^  \/\/ Store times/i\
#pragma MICP disable
/^ *MPI_Finalize();/i\
#pragma MICP fini
