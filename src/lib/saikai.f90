! Saikai for Fortran: `use saikai`. The functions are those of saikai.h, which says what each does; they return its
! numbers. Names and settings are ordinary strings. Arrays are passed as they are: type and shape are known.
!
!     use saikai
!     rc = saikai_init(MPI_COMM_WORLD)              ! or MPI_COMM_WORLD%mpi_val with mpi_f08
!     rc = saikai_protect("u", u)
!     rc = saikai_restart(first)
!     do it = first + 1, last
!        call step(u)
!        rc = saikai_checkpoint(it)
!     end do
!     rc = saikai_finalize()
module saikai
  use, intrinsic :: iso_c_binding
  implicit none
  private

  include 'saikai_codes.inc'

  integer(c_int), parameter, public :: SAIKAI_EXACT = 0, SAIKAI_ABS = 1, SAIKAI_REL = 2, SAIKAI_PSNR = 3
  public :: saikai_bound
  public :: saikai_init, saikai_finalize, saikai_protect, saikai_protect_global, &
    saikai_replicated, saikai_unprotect, saikai_restart, saikai_restored_place
  public :: saikai_checkpoint, saikai_checkpoint_at, saikai_checkpoint_now, saikai_should_stop, saikai_wait
  public :: saikai_checkpoint_begin, saikai_checkpoint_end, saikai_file_path, saikai_restored_file, saikai_error

  interface saikai_restart
    module procedure restart_int, restart_long
  end interface
  interface saikai_protect_global
    module procedure protect_global_int, protect_global_long
  end interface
  interface saikai_checkpoint
    module procedure checkpoint_int, checkpoint_long
  end interface
  interface saikai_checkpoint_now
    module procedure now_int, now_long
  end interface

  interface
    function c_init(comm, config) bind(c, name='saikai_init_fortran') result(rc)
      import
      integer(c_int), value :: comm
      character(kind=c_char), intent(in) :: config(*)
      integer(c_int) :: rc
    end function
    function c_protect(name, array) bind(c, name='saikai_protect_fortran') result(rc)
      import
      character(kind=c_char), intent(in) :: name(*)
      type(*), intent(in), target :: array(..)
      integer(c_int) :: rc
    end function
    function c_protect_global(name, array, global_dims, offset, given) bind(c, name='saikai_protect_global_fortran') &
        result(rc)
      import
      character(kind=c_char), intent(in) :: name(*)
      type(*), intent(in), target :: array(..)
      integer(c_int64_t), intent(in) :: global_dims(*), offset(*)
      integer(c_int), value :: given
      integer(c_int) :: rc
    end function
    function c_replicated(name) bind(c, name='saikai_replicated') result(rc)
      import
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int) :: rc
    end function
    function c_unprotect(name) bind(c, name='saikai_unprotect') result(rc)
      import
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int) :: rc
    end function
    function c_bound(name, kind, value) bind(c, name='saikai_bound') result(rc)
      import
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: kind
      real(c_double), value :: value
      integer(c_int) :: rc
    end function
    function c_restart(iteration) bind(c, name='saikai_restart') result(rc)
      import
      integer(c_long), intent(inout) :: iteration
      integer(c_int) :: rc
    end function
    function c_checkpoint(iteration) bind(c, name='saikai_checkpoint') result(rc)
      import
      integer(c_long), value :: iteration
      integer(c_int) :: rc
    end function
    function c_checkpoint_at(place, iteration) bind(c, name='saikai_checkpoint_at') result(rc)
      import
      integer(c_int), value :: place
      integer(c_long), value :: iteration
      integer(c_int) :: rc
    end function
    function c_now(iteration) bind(c, name='saikai_checkpoint_now') result(rc)
      import
      integer(c_long), value :: iteration
      integer(c_int) :: rc
    end function
    function c_begin(iteration) bind(c, name='saikai_checkpoint_begin') result(rc)
      import
      integer(c_long), value :: iteration
      integer(c_int) :: rc
    end function
    function c_end(ok) bind(c, name='saikai_checkpoint_end') result(rc)
      import
      integer(c_int), value :: ok
      integer(c_int) :: rc
    end function
    function c_path(name, path, n) bind(c, name='saikai_file_path') result(rc)
      import
      character(kind=c_char), intent(in) :: name(*)
      character(kind=c_char), intent(out) :: path(*)
      integer(c_size_t), value :: n
      integer(c_int) :: rc
    end function
    function c_restored(name, path, n) bind(c, name='saikai_restored_file') result(rc)
      import
      character(kind=c_char), intent(in) :: name(*)
      character(kind=c_char), intent(out) :: path(*)
      integer(c_size_t), value :: n
      integer(c_int) :: rc
    end function
    function c_error() bind(c, name='saikai_error_text') result(text)
      import
      type(c_ptr) :: text
    end function
    function c_strlen(text) bind(c, name='strlen') result(n)
      import
      type(c_ptr), value :: text
      integer(c_size_t) :: n
    end function
    function saikai_finalize() bind(c, name='saikai_finalize') result(rc)
      import
      integer(c_int) :: rc
    end function
    function saikai_restored_place() bind(c, name='saikai_restored_place') result(place)
      import
      integer(c_int) :: place
    end function
    function saikai_should_stop() bind(c, name='saikai_should_stop') result(stop_now)
      import
      integer(c_int) :: stop_now
    end function
    function saikai_wait() bind(c, name='saikai_wait') result(rc)
      import
      integer(c_int) :: rc
    end function
  end interface

contains

  pure function c_text(text) result(c)
    character(*), intent(in) :: text
    character(kind=c_char) :: c(len_trim(text) + 1)
    integer :: i
    do i = 1, len_trim(text)
      c(i) = text(i:i)
    end do
    c(len_trim(text) + 1) = c_null_char
  end function

  function saikai_init(comm, config) result(rc)
    integer, intent(in) :: comm
    character(*), intent(in), optional :: config
    integer(c_int) :: rc
    if (present(config)) then
      rc = c_init(int(comm, c_int), c_text(config))
    else
      rc = c_init(int(comm, c_int), [c_null_char])
    end if
  end function

  ! The array must be contiguous, and stay where it is (attribute target keeps compilers from moving it).
  function saikai_protect(name, array) result(rc)
    character(*), intent(in) :: name
    type(*), intent(in), target :: array(..)
    integer(c_int) :: rc
    rc = c_protect(c_text(name), array)
  end function

  ! The array, or a section of it without its ghost cells, is a block of a global array of these dimensions; offset: how
  ! many elements of that lie before it in each dimension, in the order of Fortran's indices.
  !     rc = saikai_protect_global("u", u(:, :, 1:planes), [nx, ny, nz], [0, 0, first])
  function protect_global_int(name, array, global_dims, offset) result(rc)
    character(*), intent(in) :: name
    type(*), intent(in), target :: array(..)
    integer(c_int), intent(in) :: global_dims(:), offset(:)
    integer(c_int) :: rc
    rc = protect_global_long(name, array, int(global_dims, c_int64_t), int(offset, c_int64_t))
  end function

  function protect_global_long(name, array, global_dims, offset) result(rc)
    character(*), intent(in) :: name
    type(*), intent(in), target :: array(..)
    integer(c_int64_t), intent(in) :: global_dims(:), offset(:)
    integer(c_int) :: rc
    integer :: given
    given = merge(size(global_dims), -1, size(global_dims) == size(offset))
    rc = c_protect_global(c_text(name), array, global_dims, offset, int(given, c_int))
  end function

  function saikai_replicated(name) result(rc)
    character(*), intent(in) :: name
    integer(c_int) :: rc
    rc = c_replicated(c_text(name))
  end function

  function saikai_bound(name, kind, value) result(rc)
    character(*), intent(in) :: name
    integer(c_int), intent(in) :: kind
    real(c_double), intent(in) :: value
    integer(c_int) :: rc
    rc = c_bound(c_text(name), kind, value)
  end function

  function saikai_unprotect(name) result(rc)
    character(*), intent(in) :: name
    integer(c_int) :: rc
    rc = c_unprotect(c_text(name))
  end function

  function restart_long(iteration) result(rc)
    integer(c_long), intent(inout) :: iteration
    integer(c_int) :: rc
    rc = c_restart(iteration)
  end function

  function restart_int(iteration) result(rc)
    integer(c_int), intent(inout) :: iteration
    integer(c_int) :: rc
    integer(c_long) :: long
    long = iteration
    rc = c_restart(long)
    iteration = int(long, c_int)
  end function

  function checkpoint_long(iteration) result(rc)
    integer(c_long), intent(in) :: iteration
    integer(c_int) :: rc
    rc = c_checkpoint(iteration)
  end function

  function checkpoint_int(iteration) result(rc)
    integer(c_int), intent(in) :: iteration
    integer(c_int) :: rc
    rc = c_checkpoint(int(iteration, c_long))
  end function

  function saikai_checkpoint_at(place, iteration) result(rc)
    integer, intent(in) :: place, iteration
    integer(c_int) :: rc
    rc = c_checkpoint_at(int(place, c_int), int(iteration, c_long))
  end function

  function now_long(iteration) result(rc)
    integer(c_long), intent(in) :: iteration
    integer(c_int) :: rc
    rc = c_now(iteration)
  end function

  function now_int(iteration) result(rc)
    integer(c_int), intent(in) :: iteration
    integer(c_int) :: rc
    rc = c_now(int(iteration, c_long))
  end function

  function saikai_checkpoint_begin(iteration) result(rc)
    integer, intent(in) :: iteration
    integer(c_int) :: rc
    rc = c_begin(int(iteration, c_long))
  end function

  function saikai_checkpoint_end(ok) result(rc)
    logical, intent(in) :: ok
    integer(c_int) :: rc
    rc = c_end(merge(1_c_int, 0_c_int, ok))
  end function

  subroutine take_path(c, path)
    character(kind=c_char), intent(in) :: c(:)
    character(*), intent(out) :: path
    integer :: i
    path = ' '
    do i = 1, min(size(c), len(path))
      if (c(i) == c_null_char) exit
      path(i:i) = c(i)
    end do
  end subroutine

  function saikai_file_path(name, path) result(rc)
    character(*), intent(in) :: name
    character(*), intent(out) :: path
    integer(c_int) :: rc
    character(kind=c_char) :: c(len(path) + 1)
    c = c_null_char
    rc = c_path(c_text(name), c, int(size(c), c_size_t))
    call take_path(c, path)
  end function

  function saikai_restored_file(name, path) result(rc)
    character(*), intent(in) :: name
    character(*), intent(out) :: path
    integer(c_int) :: rc
    character(kind=c_char) :: c(len(path) + 1)
    c = c_null_char
    rc = c_restored(c_text(name), c, int(size(c), c_size_t))
    call take_path(c, path)
  end function

  ! The sentence of the last error.
  function saikai_error() result(text)
    character(:), allocatable :: text
    character(kind=c_char), pointer :: c(:)
    type(c_ptr) :: p
    integer :: i, n
    p = c_error()
    n = int(c_strlen(p))
    call c_f_pointer(p, c, [n])
    allocate (character(n) :: text)
    do i = 1, n
      text(i:i) = c(i)
    end do
  end function
end module saikai
