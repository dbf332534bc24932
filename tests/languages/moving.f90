! What moves, and what is asked: arrays that are allocated anew, streams, attributes, status, log and the choice of a generation, with
! the module mpi_f08. The first start saves, the second one compares.
module moving_parts
  use saikai
  use, intrinsic :: iso_fortran_env, only: real64
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: lines = 0, jobs = 0
  character(5) :: words(3) = ' '
  real(real64), allocatable, target :: grid(:, :)
contains
  subroutine hear(level, line)
    integer, intent(in) :: level
    character(*), intent(in) :: line
    if (level <= SAIKAI_LOG_NOTICE) lines = lines + 1
    if (line(1:4) == 'job ') jobs = jobs + 1
  end subroutine

  subroutine write_words(unit, rc)
    integer, intent(in) :: unit
    integer, intent(inout) :: rc
    write (unit, iostat=rc) size(words), words
  end subroutine

  subroutine read_words(unit, rc)
    integer, intent(in) :: unit
    integer, intent(inout) :: rc
    integer :: n
    read (unit, iostat=rc) n
    if (rc == 0 .and. n == size(words)) read (unit, iostat=rc) words
  end subroutine

  subroutine fails(unit, rc)
    integer, intent(in) :: unit
    integer, intent(inout) :: rc
    rc = unit - unit + 7
  end subroutine

  ! Columns of four: an array of two dimensions, by hand.
  function look_grid(arg, at, count) bind(c) result(rc)
    type(c_ptr), value :: arg
    type(c_ptr), intent(out) :: at
    integer(c_size_t), intent(out) :: count
    integer(c_int) :: rc
    rc = merge(1, 0, c_associated(arg))
    at = c_loc(grid)
    count = size(grid, 2)
  end function

  function resize_grid(arg, count, at) bind(c) result(rc)
    type(c_ptr), value :: arg
    integer(c_size_t), value :: count
    type(c_ptr), intent(out) :: at
    integer(c_int) :: rc
    rc = merge(1, 0, c_associated(arg))
    deallocate (grid)
    allocate (grid(4, count))
    at = c_loc(grid)
  end function
end module

program moving
  use mpi_f08
  use moving_parts
  use, intrinsic :: iso_fortran_env, only: int64, error_unit
  implicit none
  ! gfortran keeps what c_funloc says as an argument among its constants, which is no place for an address that is not known yet
  type(c_funptr) :: look, resize
  type(saikai_real64_array), target :: x
  type(saikai_int32_array), target :: n
  type(saikai_int64_array), target :: none
  type(saikai_real32_array), target :: f
  type(saikai_status) :: st
  real(real64), target :: block(6, 5) = 0, bounded(3) = 0
  integer :: it = 0, wrong = 0, found, i
  integer(int64) :: long_it = 0

  call MPI_Init()
  call good(saikai_set_log(hear))
  if (saikai_init(1.5_real64) /= SAIKAI_EINVAL) call fail('a number that is no communicator')
  if (saikai_init(MPI_COMM_WORLD, 'restart.mode=always; schedule.first=no; lib.on_error=return') < 0) call fail('saikai_init')
  if (saikai_version_number() < 100 .or. len(saikai_version()) < 5 .or. index(saikai_error_name(SAIKAI_ENOENT), 'ENOENT') == 0) &
    call fail('versions')
  allocate (grid(4, 1), source=0.0_real64)
  call good(saikai_protect_array('x', x))
  call good(saikai_protect_array('n', n))
  call good(saikai_protect_array('none', none))
  call good(saikai_protect_array('f', f))
  look = c_funloc(look_grid)
  resize = c_funloc(resize_grid)
  call good(saikai_protect_resizable('grid', look, resize, c_null_ptr, 4, SAIKAI_F64))
  call good(saikai_protect_stream('words', fails, fails))
  call good(saikai_protect_stream('words', write_words, read_words))
  call good(saikai_protect('block', block(1:4, 1:3)))
  call good(saikai_protect('bounded', bounded))
  call good(saikai_set('bounded', 'bound', 'abs:0.01'))
  call good(saikai_set('none', 'constant', 'yes'))
  if (saikai_set('bounded', 'colour', 'red') /= SAIKAI_EINVAL) call fail('attributes')
  if (index(saikai_error(), 'constant') == 0) call fail('the known attributes')

  call get_environment_variable('CHOOSE', status=found)
  if (found == 0) then
    if (saikai_restart_from('77', it) /= SAIKAI_ENOENT) call fail('a generation that is not there')
    found = saikai_restart_from('5', long_it)
    it = int(long_it)
  else
    found = saikai_restart(it)
  end if
  if (found < 0) call fail('the restart')
  if (found == 1) then
    if (it /= 5 .or. size(x%a) /= 1000 .or. size(n%a) /= 3 .or. allocated(none%a) .or. size(grid, 2) /= 9) call fail('lengths')
    if (any(x%a /= [(0.5_real64*i, i=1, 1000)]) .or. any(n%a /= [7, 8, 9]) .or. any(f%a /= 2.5)) wrong = wrong + 1
    if (any(grid /= reshape([(real(i, real64), i=1, 36)], [4, 9])) .or. any(words /= ['one  ', 'two  ', 'three'])) wrong = wrong + 1
    if (any(block(1:4, 1:3) /= 3) .or. any(block(5:6, :) /= 0) .or. any(abs(bounded - 1.25_real64) > 0.01)) wrong = wrong + 1
  end if

  ! other memory, other lengths
  x%a = [(0.5_real64*i, i=1, 10)]
  call good(saikai_checkpoint(5))
  if (allocated(n%a)) deallocate (n%a)
  x%a = [(0.5_real64*i, i=1, 1000)]
  n%a = [7, 8, 9]
  f%a = [2.5, 2.5]
  deallocate (grid)
  allocate (grid(4, 9))
  grid = reshape([(real(i, real64), i=1, 36)], [4, 9])
  words = ['one  ', 'two  ', 'three']
  block(1:4, 1:3) = 3
  bounded = 1.25
  if (found == 0 .and. saikai_checkpoint_now(5) /= 1) call fail('the checkpoint')
  if (found == 0) then
    call good(saikai_wait())
    call good(saikai_get_status(st))
    if (st%checkpoints /= 1 .or. st%complete_iteration /= 5 .or. st%bytes < 8000 .or. st%protected_iteration > 5) &
      call fail('its fields')
  end if
  call good(saikai_finalize())
  if (lines < 1 .or. jobs /= 1) call fail('the log')
  write (*, '(a,i0,a,i0,a)') merge('resumed from ', 'began at     ', found == 1), it, ': ', wrong, ' wrong'
  call MPI_Finalize()
  if (wrong > 0) error stop 1

contains

  subroutine good(code)
    integer, intent(in) :: code
    if (code < 0) call fail('a call')
  end subroutine

  subroutine fail(what)
    character(*), intent(in) :: what
    write (error_unit, '(4a)') 'moving: ', what, ': ', saikai_error()
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine
end program moving
