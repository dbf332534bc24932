! As blocks.c, in Fortran: the blocks are columns, the last dimension is divided.
program blocks
  use mpi
  implicit none
  integer, parameter :: lines = 5, columns = 37, turns = 60
  integer :: rank, ranks, first, n, turn, i, k, ierr
  integer(8) :: own, all, total
  real(8), allocatable :: u(:, :), line(:)
  call mpi_init(ierr)
  call mpi_comm_rank(mpi_comm_world, rank, ierr)
  call mpi_comm_size(mpi_comm_world, ranks, ierr)
  first = columns * rank / ranks
  n = columns * (rank + 1) / ranks - first
  allocate (u(lines, n), line(n))
  u = 0
  line = 0
  total = 0
!$MICP init
!$MICP enable total, u(:, 1:n) global([lines, columns], [0, first]), line global(columns, first)
  do turn = 1, turns
    do i = 1, n
      line(i) = line(i) + turn * (first + i)
      do k = 1, lines
        u(k, i) = u(k, i) * 0.5d0 + turn + line(i) * k
      end do
    end do
    call die()
    own = 0
    do i = 1, n
      do k = 1, lines
        own = own + int(u(k, i) * 16, 8) * ((first + i) * lines + k)
      end do
    end do
    call mpi_allreduce(own, all, 1, mpi_integer8, mpi_sum, mpi_comm_world, ierr)
    total = mod(total * 3 + all, 1000000007_8)
!$MICP ckpt
  end do
!$MICP disable
  if (rank == 0) print '(a, i0)', 'total ', total
!$MICP fini
  call mpi_finalize(ierr)
contains
  subroutine die()
    character(20) :: at
    integer, save :: calls = 0
    integer :: n, status
    calls = calls + 1
    call get_environment_variable('DIE_AT', at, status=status)
    if (status /= 0) return
    read (at, *) n
    if (n == calls) call abort()
  end subroutine
end program
