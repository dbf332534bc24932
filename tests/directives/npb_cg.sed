# What NPB's CG in Fortran gets (CG/cg.f): five comments.
/^      call initialize_mpi/a\
!$MICP init
/^      do it = 1, niter/i\
!$MICP enable x, zeta
/end of main iter/i\
!$MICP ckpt
/end of main iter/a\
!$MICP disable
/^      call mpi_finalize/i\
!$MICP fini
