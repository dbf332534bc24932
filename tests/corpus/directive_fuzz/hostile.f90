program p
implicit none
!$micp init(comm=MPI_COMM_WORLD)
!$micp enable u(:, 1:n) global([n, m], &
!$micp & [0, k]), v%x, &
!$micp w(0-9) bound(abs:1.0)
outer: do while (a < 3 .and. "!" /= c(1))
#ifdef X
if (a > 1) &
  b = 2; a = a + 1
#endif
  do concurrent (i=1:n); x(i) = 1; end do
!$micp ckpt
end do outer
!$micp disable
!$chk load(a, b) if(a > 1)
!$chk store(a, b) id(i) level(1)
!$chk shutdown
end program
