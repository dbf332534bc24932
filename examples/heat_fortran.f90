! The 3-D heat equation in Fortran, cut into slabs along the last index.
! usage: heat_fortran [-p PIDFILE] [N STEPS]      an N x N x N grid
! The lines that end in "saikai" are all that it takes to survive faults, and to go on with another number of ranks.
module heat
  use mpi
  use saikai                                                     ! saikai
  use, intrinsic :: iso_fortran_env, only: int64, real64, error_unit
  implicit none
  interface
    function getpid() bind(c) result(pid)
      use, intrinsic :: iso_c_binding, only: c_int
      integer(c_int) :: pid
    end function
  end interface
  real(real64), parameter :: r = 0.15_real64, pi = acos(-1.0_real64)
  real(real64), allocatable, target :: u(:, :, :), v(:, :, :)
  integer :: rank, ranks, ierr, n, steps, first, planes, it, i, j, k, up, down
  real(real64) :: factor, exact, worst, all_worst
  integer(int64) :: total, bits

contains

  ! From saikai_init to saikai_finalize: when a process died and was made again, it runs again from here.
  subroutine run()
    if (allocated(u)) deallocate (u)
    if (allocated(v)) deallocate (v)
    allocate (u(n, n, 0:planes + 1), source=0.0_real64)
    do k = 1, planes
      do j = 1, n
        do i = 1, n
          u(i, j, k) = mode(i - 1)*mode(j - 1)*mode(first + k - 1)
        end do
      end do
    end do

    it = 0
    if (saikai_init(MPI_COMM_WORLD) < 0) call fail()               ! saikai
    if (saikai_protect_global("u", u(:, :, 1:planes), [n, n, n], [0, 0, first]) < 0) call fail() ! saikai
    if (saikai_restart(it) < 0) call fail()                        ! saikai
    allocate (v, source=u)
    do while (it < steps)
      call MPI_Sendrecv(u(:, :, planes), n*n, MPI_DOUBLE_PRECISION, up, 0, u(:, :, 0), n*n, MPI_DOUBLE_PRECISION, &
                        down, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
      call MPI_Sendrecv(u(:, :, 1), n*n, MPI_DOUBLE_PRECISION, down, 1, u(:, :, planes + 1), n*n, &
                        MPI_DOUBLE_PRECISION, up, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
      do k = 1, planes
        if (first + k == 1 .or. first + k == n) cycle
        do j = 2, n - 1
          do i = 2, n - 1
            v(i, j, k) = u(i, j, k) + r*(u(i, j, k - 1) + u(i, j, k + 1) + u(i, j - 1, k) + u(i, j + 1, k) &
                                         + u(i - 1, j, k) + u(i + 1, j, k) - 6*u(i, j, k))
          end do
        end do
      end do
      u(:, :, 1:planes) = v(:, :, 1:planes)
      it = it + 1
      if (saikai_checkpoint(it) < 0) write (error_unit, *) saikai_error()   ! saikai
    end do

    ! The first sine mode decays by the same factor in every step: the exact solution of the discrete equation.
    factor = (1 - 6*r*(1 - cos(pi/(n - 1))))**steps
    worst = 0
    do k = 1, planes
      do j = 1, n
        do i = 1, n
          exact = factor*mode(i - 1)*mode(j - 1)*mode(first + k - 1)
          worst = max(worst, abs(u(i, j, k) - exact))
        end do
      end do
    end do
    ! Numbers that are not negative have the order of their bits; so both reductions are of one type, which is all that the
    ! mpi module of MPICH can describe.
    bits = transfer(worst, bits)
    call MPI_Allreduce(bits, total, 1, MPI_INTEGER8, MPI_MAX, MPI_COMM_WORLD, ierr)
    all_worst = transfer(total, all_worst)
    total = checksum()
    if (rank == 0) then
      write (*, '(a,i0,a,i0,a,z16.16,a,es8.1,a)') 'heat (Fortran) ', n, '^3, ', steps, ' steps: checksum ', total, &
        ', largest error ', all_worst, merge(': verified', ': WRONG   ', all_worst < 1e-10_real64)
    end if
    ierr = saikai_finalize()                                       ! saikai
  end subroutine

  real(real64) function mode(i)
    integer, intent(in) :: i
    mode = sin(pi*i/(n - 1))
  end function

  ! Exclusive or of bits rotated by their place.
  integer(int64) function checksum()
    integer(int64) :: x, mine
    integer :: a, b, c
    mine = 0
    do c = 1, planes
      do b = 1, n
        do a = 1, n
          x = transfer(u(a, b, c), x)
          mine = ieor(mine, ishftc(x, modulo(a + 5*b + 11*(first + c), 64)))
        end do
      end do
    end do
    call MPI_Allreduce(mine, checksum, 1, MPI_INTEGER8, MPI_BXOR, MPI_COMM_WORLD, ierr)
  end function

  subroutine fail()
    write (error_unit, '(2a)') 'heat_fortran: ', saikai_error()
    call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  end subroutine

  subroutine arguments(points, last)
    integer, intent(out) :: points, last
    character(1000) :: text
    integer :: at, unit
    points = 64
    last = 500
    at = 1
    call get_command_argument(1, text)
    if (text == '-p') then
      call get_command_argument(2, text)
      write (text(len_trim(text) + 1:), '(a,i0)') '.', rank
      open (newunit=unit, file=trim(text))
      write (unit, '(i0)') getpid()
      close (unit)
      at = 3
    end if
    if (command_argument_count() == at + 1) then
      call get_command_argument(at, text)
      read (text, *) points
      call get_command_argument(at + 1, text)
      read (text, *) last
    end if
  end subroutine
end module heat

program main
  use mpi
  use heat
  use saikai                                                     ! saikai
  implicit none
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  call arguments(n, steps)
  first = n*rank/ranks
  planes = n*(rank + 1)/ranks - first
  up = merge(rank + 1, MPI_PROC_NULL, rank + 1 < ranks)
  down = merge(rank - 1, MPI_PROC_NULL, rank > 0)

  call saikai_in_place(run)                                      ! saikai
  call MPI_Finalize(ierr)
  if (all_worst >= 1e-10_real64) error stop 1
end program main
