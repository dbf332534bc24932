! Two jobs at once in one program: each half of the ranks is one, all ranks together are another; both protect a variable, an array that
! moves and a stream of the same names, with values of their own.
! usage: handles begin|resume          (compiled with mpi_f08 if F08 is defined, else with mpif.h)
module handles_parts
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: stream_mine = 0, stream_whole = 0
contains
  subroutine write_mine(unit, rc)
    integer, intent(in) :: unit
    integer, intent(inout) :: rc
    write (unit, iostat=rc) stream_mine
  end subroutine

  subroutine read_mine(unit, rc)
    integer, intent(in) :: unit
    integer, intent(inout) :: rc
    read (unit, iostat=rc) stream_mine
  end subroutine

  subroutine write_whole(unit, rc)
    integer, intent(in) :: unit
    integer, intent(inout) :: rc
    write (unit, iostat=rc) stream_whole
  end subroutine

  subroutine read_whole(unit, rc)
    integer, intent(in) :: unit
    integer, intent(inout) :: rc
    read (unit, iostat=rc) stream_whole
  end subroutine

  subroutine fill(u, with)
    real(c_double), intent(out) :: u(:)
    real(c_double), intent(in) :: with
    integer :: i
    u = [(with + i, i=1, size(u))]
  end subroutine

  function is_full(u, with) result(is)
    real(c_double), intent(in) :: u(:), with
    logical :: is
    integer :: i
    is = .true.
    do i = 1, size(u)
      is = is .and. abs(u(i) - with - i) < 1e-9
    end do
  end function
end module

program handles
  use handles_parts
  use saikai
#ifdef F08
  use mpi_f08
#endif
  implicit none
#ifndef F08
  include 'mpif.h'
#endif
  integer, parameter :: n = 50000
#ifdef F08
  type(MPI_Comm) :: half
#else
  integer :: half
#endif
  type(saikai_handle) :: mine, whole, none
  type(saikai_real64_array), target :: moving
  type(saikai_status) :: status
  real(c_double), target :: u(n), v(n)
  character(16) :: word
  integer, target :: rank
  integer :: ranks, upper, i, it, last, ierr, got
  integer(c_long) :: at
  logical :: resumes

  call get_command_argument(1, word)
  resumes = word == 'resume'
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  upper = merge(1, 0, rank >= ranks/2)
  call MPI_Comm_split(MPI_COMM_WORLD, upper, rank, half, ierr)
  last = 5 + 2*upper
  got = merge(1, 0, resumes)

  call expect(.not. saikai_is_open(mine) .and. saikai_checkpoint(mine, 1) == SAIKAI_ESTATE, 'nothing is open yet')
  call expect(saikai_open(half, none, 'nonsense.key=1; lib.on_error=return') == SAIKAI_ECONFIG, 'a wrong key')
  call expect(.not. saikai_is_open(none) .and. saikai_close(none) == SAIKAI_ESTATE, 'a handle of an error')
  call expect(saikai_open(half, mine, 'job.name='//trim(merge('upper', 'lower', upper == 1))// &
              '; restart.mode=always; schedule.every=1000000; lib.on_error=return') == 0, 'open the half')
#ifdef F08
  call expect(saikai_open(MPI_COMM_WORLD%MPI_VAL, whole, 'job.name=all; restart.mode=always; schedule.every=1000000; '// &
              'lib.on_error=return') == 0, 'open the whole')
#else
  call expect(saikai_open(int(MPI_COMM_WORLD, c_long), whole, 'job.name=all; restart.mode=always; schedule.every=1000000; '// &
              'lib.on_error=return') == 0, 'open the whole')
#endif
  call expect(saikai_is_open(mine) .and. saikai_is_open(whole) .and. .not. saikai_is_open(saikai_default()), 'which are open')
  call expect(saikai_checkpoint(1) == SAIKAI_ESTATE, 'there is no default')

  call expect(saikai_protect(mine, 'u', u) == 0 .and. saikai_protect(whole, 'u', v(n:1:-1)) == 0, 'protect')
  call expect(saikai_protect_bytes(whole, 'rank', rank) == 0 .and. saikai_set(whole, 'rank', 'codec', 'zstd') == 0, 'bytes')
  call expect(saikai_protect_array(mine, 'moving', moving) == 0, 'an array that moves')
  call expect(saikai_protect_stream(mine, 'log', write_mine, read_mine) == 0, 'a stream')
  call expect(saikai_protect_stream(whole, 'log', write_whole, read_whole) == 0, 'a stream of the same name')
  call expect(saikai_protect_global(mine, 'wrong', u, [1, 2], [0, 0]) == SAIKAI_EINVAL, 'dimensions')
  call expect(index(saikai_error(), "'wrong'") > 0, 'the error names the variable: '//saikai_error())

  it = 0
  at = 0
  call expect(saikai_restart(mine, it) == got .and. it == merge(last, 0, resumes), 'restart the half')
  call expect(saikai_restart(whole, at) == got .and. at == merge(3_c_long, 0_c_long, resumes), 'restart the whole')
  if (resumes) then
    call expect(is_full(u, 1000.0d0*rank) .and. is_full(v, 7.0d0 + rank), 'what came back')
    call expect(allocated(moving%a), 'the array that moved')
    call expect(size(moving%a) == 10 + rank .and. abs(moving%a(10 + rank) - last) < 1e-9, 'its content')
    call expect(stream_mine == 100 + rank .and. stream_whole == 200 + rank, 'the streams')
  end if
  call fill(u, 1000.0d0*rank)
  call fill(v, 7.0d0 + rank)
  stream_mine = 100 + rank
  stream_whole = 200 + rank
  moving%a = [(real(last, c_double), i=1, 10 + rank)]
  if (.not. resumes) then
    do it = 1, last - 1
      call expect(saikai_checkpoint(mine, it) >= 0 .and. saikai_should_stop(mine) == 0, 'a candidate')
    end do
    call expect(saikai_checkpoint_now(whole, 3_c_long) == 1 .and. saikai_checkpoint_now(mine, last) == 1, 'checkpoints')
    call expect(saikai_wait(whole) == 0 .and. saikai_wait(mine) == 0, 'wait')
    call expect(saikai_get_status(mine, status) == 0 .and. status%complete_iteration == last, 'status of the half')
    call expect(saikai_get_status(whole, status) == 0 .and. status%complete_iteration == 3, 'status of the whole')
  end if
  call expect(saikai_close(whole) == 0 .and. .not. saikai_is_open(whole), 'close')
  call expect(saikai_unprotect(mine, 'moving') == 0 .and. saikai_checkpoint(mine, last + 1) >= 0 .and. saikai_close(mine) == 0, &
              'the other one goes on')
  call MPI_Comm_free(half, ierr)
  if (rank == 0) print '(a)', 'fine'
  call MPI_Finalize(ierr)

contains

  subroutine expect(good, what)
    logical, intent(in) :: good
    character(*), intent(in) :: what
    if (good) return
    print '(a, i0, 4a)', 'rank ', rank, ': ', what, ': ', saikai_error()
    call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  end subroutine
end program
