! Saikai for Fortran: `use saikai`. The functions are those of saikai.h, which says what each does; they return its
! numbers. Names and settings are ordinary strings. Arrays are passed as they are: type, shape and strides are known. Integers
! are of 32 or 64 bits. Give what is protected the attribute target: its address is kept.
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
  public :: saikai_init, saikai_finalize, saikai_protect, saikai_protect_bytes, saikai_protect_global, &
    saikai_replicated, saikai_unprotect, saikai_restart, saikai_restored_place
  public :: saikai_checkpoint, saikai_checkpoint_at, saikai_checkpoint_now, saikai_should_stop, saikai_wait
  public :: saikai_checkpoint_begin, saikai_checkpoint_end, saikai_file_path, saikai_restored_file, saikai_error

  interface saikai_init
    module procedure init_int, init_long
  end interface
  interface saikai_bound
    module procedure bound_int, bound_long
  end interface
  interface saikai_restart
    procedure restart_int, restart_long
  end interface
  interface saikai_checkpoint
    module procedure checkpoint_int, checkpoint_long
  end interface
  interface saikai_checkpoint_at
    module procedure at_int, at_long, at_int_long, at_long_int
  end interface
  interface saikai_checkpoint_now
    module procedure now_int, now_long
  end interface
  interface saikai_checkpoint_begin
    module procedure begin_int, begin_long
  end interface

  ! What is protected goes to C directly: no compiler makes a copy of it on the way, and a constant or an expression, which
  ! could not be restored, is an error when the program is compiled.
  interface
    ! A variable of any intrinsic type, an array, a pointer's target, or a section with any strides, also of components:
    !     rc = saikai_protect("x", particles%x)
    ! A variable of a derived type is refused: nobody can see whether it has allocatable or pointer components.
    function saikai_protect(name, array) bind(c, name='saikai_protect_fortran') result(rc)
      import
      character(*, kind=c_char), intent(in) :: name
      type(*), intent(inout), target :: array(..)
      integer(c_int) :: rc
    end function
    ! The bytes of a variable of a derived type that has no allocatable and no pointer components.
    function saikai_protect_bytes(name, array) bind(c, name='saikai_protect_bytes_fortran') result(rc)
      import
      character(*, kind=c_char), intent(in) :: name
      type(*), intent(inout), target :: array(..)
      integer(c_int) :: rc
    end function
    ! The array, or a section of it without its ghost cells, is a block of a global array of these dimensions; offset: how
    ! many elements of that lie before it in each dimension, in the order of Fortran's indices; integers of any kind.
    !     rc = saikai_protect_global("u", u(:, :, 1:planes), [nx, ny, nz], [0, 0, first])
    function saikai_protect_global(name, array, global_dims, offset) bind(c, name='saikai_protect_global_fortran') &
        result(rc)
      import
      character(*, kind=c_char), intent(in) :: name
      type(*), intent(inout), target :: array(..)
      type(*), intent(in) :: global_dims(:), offset(:)
      integer(c_int) :: rc
    end function
  end interface

  interface
    function c_init(comm, config) bind(c, name='saikai_init_fortran') result(rc)
      import
      integer(c_int), value :: comm
      character(kind=c_char), intent(in) :: config(*)
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
    function restart_long(iteration) bind(c, name='saikai_restart') result(rc)
      import
      integer(c_long), intent(inout) :: iteration
      integer(c_int) :: rc
    end function
    function restart_int(iteration) bind(c, name='saikai_restart_int_fortran') result(rc)
      import
      integer(c_int), intent(inout) :: iteration
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

  function init_int(comm, config) result(rc)
    integer(c_int), intent(in) :: comm
    character(*), intent(in), optional :: config
    integer(c_int) :: rc
    if (present(config)) then
      rc = c_init(comm, c_text(config))
    else
      rc = c_init(comm, [c_null_char])
    end if
  end function

  function init_long(comm, config) result(rc)
    integer(c_long), intent(in) :: comm
    character(*), intent(in), optional :: config
    integer(c_int) :: rc
    rc = init_int(int(comm, c_int), config)
  end function

  function saikai_replicated(name) result(rc)
    character(*), intent(in) :: name
    integer(c_int) :: rc
    rc = c_replicated(c_text(name))
  end function

  function bound_int(name, kind, value) result(rc)
    character(*), intent(in) :: name
    integer(c_int), intent(in) :: kind
    real(c_double), intent(in) :: value
    integer(c_int) :: rc
    rc = c_bound(c_text(name), kind, value)
  end function

  function bound_long(name, kind, value) result(rc)
    character(*), intent(in) :: name
    integer(c_long), intent(in) :: kind
    real(c_double), intent(in) :: value
    integer(c_int) :: rc
    rc = c_bound(c_text(name), int(max(-1_c_long, min(kind, 99_c_long)), c_int), value)
  end function

  function saikai_unprotect(name) result(rc)
    character(*), intent(in) :: name
    integer(c_int) :: rc
    rc = c_unprotect(c_text(name))
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

  function at_int(place, iteration) result(rc)
    integer(c_int), intent(in) :: place, iteration
    integer(c_int) :: rc
    rc = c_checkpoint_at(place, int(iteration, c_long))
  end function

  function at_long(place, iteration) result(rc)
    integer(c_long), intent(in) :: place, iteration
    integer(c_int) :: rc
    rc = c_checkpoint_at(int(max(-1_c_long, min(place, 99_c_long)), c_int), iteration)
  end function

  function at_int_long(place, iteration) result(rc)
    integer(c_int), intent(in) :: place
    integer(c_long), intent(in) :: iteration
    integer(c_int) :: rc
    rc = c_checkpoint_at(place, iteration)
  end function

  function at_long_int(place, iteration) result(rc)
    integer(c_long), intent(in) :: place
    integer(c_int), intent(in) :: iteration
    integer(c_int) :: rc
    rc = at_long(place, int(iteration, c_long))
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

  function begin_int(iteration) result(rc)
    integer(c_int), intent(in) :: iteration
    integer(c_int) :: rc
    rc = c_begin(int(iteration, c_long))
  end function

  function begin_long(iteration) result(rc)
    integer(c_long), intent(in) :: iteration
    integer(c_int) :: rc
    rc = c_begin(iteration)
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
