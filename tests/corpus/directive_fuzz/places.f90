program heat
  use mpi
  implicit none
  integer :: i, n, j
  real(8) :: u(10)
  real(8), allocatable :: w(:,:)
  !$MICP init
  n = 5
  allocate(w(0:3,2)); w = 0
  u = 0
  !$MICP enable i, u(0-9), w(:,1:2) &
  !$MICP& every(10) bound(rel:1e-4)
  outer: do i = 1, n   ! comment
    do j = 1, 10; u(j) = u(j) + &
        i; end do
    !$MICP ckpt
    if (i == 3) then
       print *, "do i = 1, 3 ! !$MICP ckpt", u(1)
    end if
!$micp ckpt
  end do outer
  !$MICP disable
  !$MICP fini
end program
