! Blocks of global arrays with ghost cells around them, as Fortran has them: sections with gaps. Saves, or, when there is
! something to go on from, checks what comes back. The number of ranks is whatever it is started with.
program blocks
  use mpi
  use saikai
  use, intrinsic :: iso_fortran_env, only: int64, real32, error_unit
  implicit none
  integer, parameter :: gx = 13, gy = 9, gz = 4
  real(real32), allocatable, target :: f(:, :, :)
  integer(int64), allocatable, target :: k(:, :)
  integer, target :: parameters(3)
  integer :: rank, ranks, ierr, px, rx, ry, x0, x1, y0, y1, it, found, bad, all_bad, x, y, z

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  px = merge(2, 1, modulo(ranks, 2) == 0)
  rx = modulo(rank, px)
  ry = rank/px
  x0 = gx*rx/px
  x1 = gx*(rx + 1)/px
  y0 = gy*ry/(ranks/px)
  y1 = gy*(ry + 1)/(ranks/px)
  allocate (f(x0:x1 + 1, y0 - 1:y1 + 2, gz), source=-1.0_real32)
  allocate (k(x0:x1 + 1, y0:y1 + 1), source=-1_int64)
  parameters = 0

  if (saikai_init(MPI_COMM_WORLD, "restart.mode=always; schedule.first=no; lib.on_error=return") < 0) call fail()
  if (saikai_protect_global("f", f(x0 + 1:x1, y0 + 1:y1, :), [gx, gy, gz], [x0, y0, 0]) < 0) call fail()
  if (saikai_protect_global("k", k(x0 + 1:x1, y0 + 1:y1), [int(gx, int64), int(gy, int64)], &
                            [int(x0, int64), int(y0, int64)]) < 0) call fail()
  if (saikai_protect("parameters", parameters) < 0) call fail()
  if (saikai_replicated("parameters") < 0) call fail()
  if (saikai_protect_global("bad", f, [gx, gy], [0, 0]) >= 0) error stop 2
  if (saikai_protect_global("bad", f(x0 + 1:x1, y0 + 1:y1, :), [gx, gy, gz - 1], [x0, y0, 0]) >= 0) error stop 3
  it = 0
  found = saikai_restart(it)
  if (found < 0) call fail()

  bad = 0
  do z = 1, gz
    do y = lbound(f, 2), ubound(f, 2)
      do x = lbound(f, 1), ubound(f, 1)
        if (x <= x0 .or. x > x1 .or. y <= y0 .or. y > y1) then
          bad = bad + merge(0, 1, f(x, y, z) == -1)
        else if (found == 1) then
          bad = bad + merge(0, 1, f(x, y, z) == x + 100*y + 10000*z .and. k(x, y) == x*1000000000_int64 + y)
        else
          f(x, y, z) = real(x + 100*y + 10000*z, real32)
          k(x, y) = x*1000000000_int64 + y
        end if
      end do
    end do
  end do
  if (found == 1) bad = bad + count(parameters /= [7, 8, it])
  parameters = [7, 8, it + 5]
  if (saikai_checkpoint_now(it + 5) < 0) call fail()
  call MPI_Allreduce(bad, all_bad, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (rank == 0) write (*, '(a,i0,a,i0,a)') merge('resumed from ', 'began at     ', found == 1), it, ': ', all_bad, ' wrong'
  if (saikai_finalize() < 0) call fail()
  call MPI_Finalize(ierr)
  if (all_bad > 0) error stop 1

contains

  subroutine fail()
    write (error_unit, '(2a)') 'blocks_fortran: ', saikai_error()
    call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  end subroutine
end program blocks
