! Saikai for Fortran: `use saikai`. The functions are those of saikai.h, which says what each does; they return its
! numbers. Names and settings are ordinary strings. Arrays are passed as they are: type, shape and strides are known. Integers
! are of 32 or 64 bits. Give what is protected the attribute target: its address is kept.
!
!     use saikai
!     rc = saikai_init(MPI_COMM_WORLD)              ! of mpi or of mpi_f08
!     rc = saikai_protect("u", u)
!     rc = saikai_restart(first)
!     do it = first + 1, last
!        call step(u)
!        rc = saikai_checkpoint(it)
!     end do
!     rc = saikai_finalize()
!
! Several jobs in one program have a handle each, as in saikai/handle.h: it goes before the other arguments of the same functions.
!
!     type(saikai_handle) :: ocean
!     rc = saikai_open(ocean_comm, ocean, "job.name=ocean")
!     rc = saikai_protect(ocean, "u", u)
!     rc = saikai_restart(ocean, first)
!     rc = saikai_checkpoint(ocean, it)
!     rc = saikai_close(ocean)
module saikai
  use, intrinsic :: iso_c_binding
  implicit none
  private

  include 'saikai_codes.inc'

  integer(c_int), parameter, public :: SAIKAI_EXACT = 0, SAIKAI_ABS = 1, SAIKAI_REL = 2, SAIKAI_PSNR = 3
  ! The types of saikai.h, for saikai_protect_resizable.
  integer(c_int), parameter, public :: SAIKAI_U8 = 1, SAIKAI_I8 = 2, SAIKAI_I16 = 3, SAIKAI_U16 = 4, SAIKAI_I32 = 5, &
    SAIKAI_U32 = 6, SAIKAI_I64 = 7, SAIKAI_U64 = 8, SAIKAI_F32 = 9, SAIKAI_F64 = 10, SAIKAI_C64 = 11, SAIKAI_C128 = 12
  integer(c_int), parameter, public :: SAIKAI_LOG_ERROR = 0, SAIKAI_LOG_WARN = 1, SAIKAI_LOG_NOTICE = 2, SAIKAI_LOG_INFO = 3, &
    SAIKAI_LOG_DEBUG = 4

  ! Arrays that move: a is allocated, and allocated anew with another length, as the program likes; each checkpoint saves what it
  ! is then, and a restart gives it the length that was saved. The variable itself has the attribute target and stays where it is.
  type, public :: saikai_real32_array
    real(c_float), allocatable :: a(:)
  end type
  type, public :: saikai_real64_array
    real(c_double), allocatable :: a(:)
  end type
  type, public :: saikai_int32_array
    integer(c_int32_t), allocatable :: a(:)
  end type
  type, public :: saikai_int64_array
    integer(c_int64_t), allocatable :: a(:)
  end type

  ! A job of several. Copies are the same job; nothing is open in one that saikai_open has not filled.
  type, bind(c), public :: saikai_handle
    private
    type(c_ptr) :: at = c_null_ptr
  end type

  ! As struct saikai_status of saikai.h.
  type, bind(c), public :: saikai_status
    integer(c_long) :: checkpoints, failed, complete_iteration, archived_iteration, advice_every
    real(c_double) :: cost_seconds, blocked_seconds, failure_rate
    integer(c_long_long) :: bytes
    integer(c_long) :: protected_iteration
    real(c_double) :: coding_seconds
  end type

  abstract interface
    ! What a program serialises itself: writes to, or reads from, a unit that is open for unformatted stream access (write (unit) x).
    ! rc is 0 and stays so for success. A module procedure or an external one.
    subroutine saikai_stream(unit, rc)
      integer, intent(in) :: unit
      integer, intent(inout) :: rc
    end subroutine
    ! One line of the log; must call neither Saikai nor MPI.
    subroutine saikai_log(level, line)
      integer, intent(in) :: level
      character(*), intent(in) :: line
    end subroutine
    ! What saikai_in_place runs, and runs again after a repair, with or without an argument. A module procedure or an external one.
    subroutine saikai_body()
    end subroutine
    subroutine saikai_body_of(arg) bind(c)
      import :: c_ptr
      type(c_ptr), value :: arg
    end subroutine
  end interface
  public :: saikai_stream, saikai_log, saikai_body, saikai_body_of

  ! What a protected stream is, for C; kept for a name that is protected again.
  type stream_of
    type(saikai_handle) :: of
    character(:), allocatable :: name
    procedure(saikai_stream), pointer, nopass :: write => null(), read => null()
    type(stream_of), pointer :: next => null()
  end type
  type(stream_of), pointer :: streams => null()
  procedure(saikai_log), pointer :: hears => null()
  procedure(saikai_body), pointer :: runs => null()

  public :: saikai_protect_array, saikai_protect_resizable, saikai_protect_stream, saikai_set, saikai_set_sizes, saikai_set_log, &
    saikai_restart_from, saikai_get_status, saikai_version, saikai_version_number, saikai_error_name
  public :: saikai_open, saikai_close, saikai_default, saikai_is_open
  public :: saikai_bound, saikai_in_place
  public :: saikai_init, saikai_finalize, saikai_protect, saikai_protect_bytes, saikai_protect_global, &
    saikai_replicated, saikai_unprotect, saikai_restart, saikai_restored_place
  public :: saikai_checkpoint, saikai_checkpoint_at, saikai_checkpoint_now, saikai_should_stop, saikai_wait
  public :: saikai_checkpoint_begin, saikai_checkpoint_end, saikai_file_path, saikai_restored_file, saikai_error

  interface saikai_protect
    procedure c_protect, h_protect
  end interface
  interface saikai_protect_bytes
    procedure c_protect_bytes, h_protect_bytes
  end interface
  interface saikai_protect_global
    procedure c_protect_global, h_protect_global
  end interface
  interface saikai_protect_array
    module procedure protect_real32, protect_real64, protect_int32, protect_int64
    module procedure h_protect_real32, h_protect_real64, h_protect_int32, h_protect_int64
  end interface
  interface saikai_protect_resizable
    module procedure saikai_protect_resizable, h_protect_resizable
  end interface
  interface saikai_protect_stream
    module procedure saikai_protect_stream, h_protect_stream
  end interface
  interface saikai_set
    module procedure saikai_set, h_set
  end interface
  interface saikai_set_sizes
    module procedure sizes_int, sizes_long, h_sizes_int, h_sizes_long
  end interface
  interface saikai_replicated
    module procedure saikai_replicated, h_replicated
  end interface
  interface saikai_bound
    module procedure bound_int, bound_long, h_bound_int, h_bound_long
  end interface
  interface saikai_in_place
    module procedure in_place, in_place_of
  end interface
  interface saikai_unprotect
    module procedure saikai_unprotect, h_unprotect
  end interface
  interface saikai_restart
    procedure restart_int, restart_long, h_restart_int, h_restart_long
  end interface
  interface saikai_restart_from
    module procedure restart_from_int, restart_from_long, h_restart_from_int, h_restart_from_long
  end interface
  interface saikai_restored_place
    procedure c_restored_place, h_restored_place
  end interface
  interface saikai_checkpoint
    module procedure checkpoint_int, checkpoint_long, h_checkpoint_int, h_checkpoint_long
  end interface
  interface saikai_checkpoint_at
    module procedure at_int, at_long, at_int_long, at_long_int
    module procedure h_at_int, h_at_long, h_at_int_long, h_at_long_int
  end interface
  interface saikai_checkpoint_now
    module procedure now_int, now_long, h_now_int, h_now_long
  end interface
  interface saikai_should_stop
    procedure c_should_stop, h_should_stop
  end interface
  interface saikai_wait
    procedure c_wait, h_wait
  end interface
  interface saikai_checkpoint_begin
    module procedure begin_int, begin_long, h_begin_int, h_begin_long
  end interface
  interface saikai_checkpoint_end
    module procedure saikai_checkpoint_end, h_checkpoint_end
  end interface
  interface saikai_file_path
    module procedure saikai_file_path, h_file_path
  end interface
  interface saikai_restored_file
    module procedure saikai_restored_file, h_restored_file
  end interface
  interface saikai_get_status
    module procedure saikai_get_status, h_get_status
  end interface

  ! What is protected goes to C directly: no compiler makes a copy of it on the way, and a constant or an expression, which
  ! could not be restored, is an error when the program is compiled.
  interface
    ! comm: an integer of mpi or mpif.h, or type(MPI_Comm) of mpi_f08.
    function saikai_init(comm, config) bind(c, name='saikai_init_fortran') result(rc)
      import
      type(*), intent(in) :: comm(..)
      character(*, kind=c_char), intent(in), optional :: config
      integer(c_int) :: rc
    end function
    ! As saikai_init, for a handle.
    function saikai_open(comm, handle, config) bind(c, name='saikai_open_fortran') result(rc)
      import
      type(*), intent(in) :: comm(..)
      type(saikai_handle), intent(out) :: handle
      character(*, kind=c_char), intent(in), optional :: config
      integer(c_int) :: rc
    end function
    ! A variable of any intrinsic type, an array, a pointer's target, or a section with any strides, also of components:
    !     rc = saikai_protect("x", particles%x)
    ! A variable of a derived type is refused: nobody can see whether it has allocatable or pointer components.
    function c_protect(name, array) bind(c, name='saikai_protect_fortran') result(rc)
      import
      character(*, kind=c_char), intent(in) :: name
      type(*), intent(inout), target :: array(..)
      integer(c_int) :: rc
    end function
    function h_protect(handle, name, array) bind(c, name='saikai_h_protect_fortran') result(rc)
      import
      type(saikai_handle), value :: handle
      character(*, kind=c_char), intent(in) :: name
      type(*), intent(inout), target :: array(..)
      integer(c_int) :: rc
    end function
    ! The bytes of a variable of a derived type that has no allocatable and no pointer components.
    function c_protect_bytes(name, array) bind(c, name='saikai_protect_bytes_fortran') result(rc)
      import
      character(*, kind=c_char), intent(in) :: name
      type(*), intent(inout), target :: array(..)
      integer(c_int) :: rc
    end function
    function h_protect_bytes(handle, name, array) bind(c, name='saikai_h_protect_bytes_fortran') result(rc)
      import
      type(saikai_handle), value :: handle
      character(*, kind=c_char), intent(in) :: name
      type(*), intent(inout), target :: array(..)
      integer(c_int) :: rc
    end function
    ! The array, or a section of it without its ghost cells, is a block of a global array of these dimensions; offset: how
    ! many elements of that lie before it in each dimension, in the order of Fortran's indices; integers of any kind.
    !     rc = saikai_protect_global("u", u(:, :, 1:planes), [nx, ny, nz], [0, 0, first])
    function c_protect_global(name, array, global_dims, offset) bind(c, name='saikai_protect_global_fortran') &
        result(rc)
      import
      character(*, kind=c_char), intent(in) :: name
      type(*), intent(inout), target :: array(..)
      type(*), intent(in) :: global_dims(:), offset(:)
      integer(c_int) :: rc
    end function
    function h_protect_global(handle, name, array, global_dims, offset) bind(c, name='saikai_h_protect_global_fortran') &
        result(rc)
      import
      type(saikai_handle), value :: handle
      character(*, kind=c_char), intent(in) :: name
      type(*), intent(inout), target :: array(..)
      type(*), intent(in) :: global_dims(:), offset(:)
      integer(c_int) :: rc
    end function
  end interface

  interface
    function c_resizable(name, look, resize, arg, width, type) bind(c, name='saikai_protect_resizable') result(rc)
      import
      character(kind=c_char), intent(in) :: name(*)
      type(c_funptr), value :: look, resize
      type(c_ptr), value :: arg
      integer(c_size_t), value :: width
      integer(c_int), value :: type
      integer(c_int) :: rc
    end function
    function ch_resizable(handle, name, look, resize, arg, width, type) bind(c, name='saikai_h_protect_resizable') result(rc)
      import
      type(saikai_handle), value :: handle
      character(kind=c_char), intent(in) :: name(*)
      type(c_funptr), value :: look, resize
      type(c_ptr), value :: arg
      integer(c_size_t), value :: width
      integer(c_int), value :: type
      integer(c_int) :: rc
    end function
    function c_stream(name, write, read, arg) bind(c, name='saikai_protect_stream') result(rc)
      import
      character(kind=c_char), intent(in) :: name(*)
      type(c_funptr), value :: write, read
      type(c_ptr), value :: arg
      integer(c_int) :: rc
    end function
    function ch_stream(handle, name, write, read, arg) bind(c, name='saikai_h_protect_stream') result(rc)
      import
      type(saikai_handle), value :: handle
      character(kind=c_char), intent(in) :: name(*)
      type(c_funptr), value :: write, read
      type(c_ptr), value :: arg
      integer(c_int) :: rc
    end function
    ! A file in memory for a unit, whose path is given back; from a stream of C's (in), or to it when it is closed (out).
    function c_memory_open(file, in, path, n) bind(c, name='saikai_memory_open_fortran') result(fd)
      import
      type(c_ptr), value :: file
      integer(c_int), value :: in
      character(kind=c_char), intent(out) :: path(*)
      integer(c_int), value :: n
      integer(c_int) :: fd
    end function
    function c_memory_close(file, fd, out) bind(c, name='saikai_memory_close_fortran') result(rc)
      import
      type(c_ptr), value :: file
      integer(c_int), value :: fd, out
      integer(c_int) :: rc
    end function
    function c_set(name, attribute, value) bind(c, name='saikai_set') result(rc)
      import
      character(kind=c_char), intent(in) :: name(*), attribute(*), value(*)
      integer(c_int) :: rc
    end function
    function ch_set(handle, name, attribute, value) bind(c, name='saikai_h_set') result(rc)
      import
      type(saikai_handle), value :: handle
      character(kind=c_char), intent(in) :: name(*), attribute(*), value(*)
      integer(c_int) :: rc
    end function
    function c_set_sizes(name, attribute, count, sizes) bind(c, name='saikai_set_sizes') result(rc)
      import
      character(kind=c_char), intent(in) :: name(*), attribute(*)
      integer(c_size_t), value :: count
      integer(c_size_t), intent(in) :: sizes(*)
      integer(c_int) :: rc
    end function
    function ch_set_sizes(handle, name, attribute, count, sizes) bind(c, name='saikai_h_set_sizes') result(rc)
      import
      type(saikai_handle), value :: handle
      character(kind=c_char), intent(in) :: name(*), attribute(*)
      integer(c_size_t), value :: count
      integer(c_size_t), intent(in) :: sizes(*)
      integer(c_int) :: rc
    end function
    function c_set_log(write, user) bind(c, name='saikai_set_log') result(rc)
      import
      type(c_funptr), value :: write
      type(c_ptr), value :: user
      integer(c_int) :: rc
    end function
    subroutine c_in_place(body, arg) bind(c, name='saikai_in_place')
      import
      type(c_funptr), value :: body
      type(c_ptr), value :: arg
    end subroutine
    function c_restart_from(generation, iteration) bind(c, name='saikai_restart_from') result(rc)
      import
      character(kind=c_char), intent(in) :: generation(*)
      integer(c_long), intent(inout) :: iteration
      integer(c_int) :: rc
    end function
    function ch_restart_from(handle, generation, iteration) bind(c, name='saikai_h_restart_from') result(rc)
      import
      type(saikai_handle), value :: handle
      character(kind=c_char), intent(in) :: generation(*)
      integer(c_long), intent(inout) :: iteration
      integer(c_int) :: rc
    end function
    function c_status(status, n) bind(c, name='saikai_get_status') result(rc)
      import
      type(saikai_status), intent(out) :: status
      integer(c_size_t), value :: n
      integer(c_int) :: rc
    end function
    function ch_status(handle, status, n) bind(c, name='saikai_h_get_status') result(rc)
      import
      type(saikai_handle), value :: handle
      type(saikai_status), intent(out) :: status
      integer(c_size_t), value :: n
      integer(c_int) :: rc
    end function
    function c_version() bind(c, name='saikai_version') result(text)
      import
      type(c_ptr) :: text
    end function
    function c_error_name(code) bind(c, name='saikai_error_name') result(text)
      import
      integer(c_int), value :: code
      type(c_ptr) :: text
    end function
    function saikai_version_number() bind(c, name='saikai_version_number') result(number)
      import
      integer(c_int) :: number
    end function
    function c_replicated(name) bind(c, name='saikai_replicated') result(rc)
      import
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int) :: rc
    end function
    function ch_replicated(handle, name) bind(c, name='saikai_h_replicated') result(rc)
      import
      type(saikai_handle), value :: handle
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int) :: rc
    end function
    function c_unprotect(name) bind(c, name='saikai_unprotect') result(rc)
      import
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int) :: rc
    end function
    function ch_unprotect(handle, name) bind(c, name='saikai_h_unprotect') result(rc)
      import
      type(saikai_handle), value :: handle
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
    function ch_bound(handle, name, kind, value) bind(c, name='saikai_h_bound') result(rc)
      import
      type(saikai_handle), value :: handle
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
    function h_restart_long(handle, iteration) bind(c, name='saikai_h_restart') result(rc)
      import
      type(saikai_handle), value :: handle
      integer(c_long), intent(inout) :: iteration
      integer(c_int) :: rc
    end function
    function restart_int(iteration) bind(c, name='saikai_restart_int_fortran') result(rc)
      import
      integer(c_int), intent(inout) :: iteration
      integer(c_int) :: rc
    end function
    function h_restart_int(handle, iteration) bind(c, name='saikai_h_restart_int_fortran') result(rc)
      import
      type(saikai_handle), value :: handle
      integer(c_int), intent(inout) :: iteration
      integer(c_int) :: rc
    end function
    function c_checkpoint(iteration) bind(c, name='saikai_checkpoint') result(rc)
      import
      integer(c_long), value :: iteration
      integer(c_int) :: rc
    end function
    function ch_checkpoint(handle, iteration) bind(c, name='saikai_h_checkpoint') result(rc)
      import
      type(saikai_handle), value :: handle
      integer(c_long), value :: iteration
      integer(c_int) :: rc
    end function
    function c_checkpoint_at(place, iteration) bind(c, name='saikai_checkpoint_at') result(rc)
      import
      integer(c_int), value :: place
      integer(c_long), value :: iteration
      integer(c_int) :: rc
    end function
    function ch_checkpoint_at(handle, place, iteration) bind(c, name='saikai_h_checkpoint_at') result(rc)
      import
      type(saikai_handle), value :: handle
      integer(c_int), value :: place
      integer(c_long), value :: iteration
      integer(c_int) :: rc
    end function
    function c_now(iteration) bind(c, name='saikai_checkpoint_now') result(rc)
      import
      integer(c_long), value :: iteration
      integer(c_int) :: rc
    end function
    function ch_now(handle, iteration) bind(c, name='saikai_h_checkpoint_now') result(rc)
      import
      type(saikai_handle), value :: handle
      integer(c_long), value :: iteration
      integer(c_int) :: rc
    end function
    function c_begin(iteration) bind(c, name='saikai_checkpoint_begin') result(rc)
      import
      integer(c_long), value :: iteration
      integer(c_int) :: rc
    end function
    function ch_begin(handle, iteration) bind(c, name='saikai_h_checkpoint_begin') result(rc)
      import
      type(saikai_handle), value :: handle
      integer(c_long), value :: iteration
      integer(c_int) :: rc
    end function
    function c_end(ok) bind(c, name='saikai_checkpoint_end') result(rc)
      import
      integer(c_int), value :: ok
      integer(c_int) :: rc
    end function
    function ch_end(handle, ok) bind(c, name='saikai_h_checkpoint_end') result(rc)
      import
      type(saikai_handle), value :: handle
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
    function ch_path(handle, name, path, n) bind(c, name='saikai_h_file_path') result(rc)
      import
      type(saikai_handle), value :: handle
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
    function ch_restored(handle, name, path, n) bind(c, name='saikai_h_restored_file') result(rc)
      import
      type(saikai_handle), value :: handle
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
    function c_close(handle) bind(c, name='saikai_close') result(rc)
      import
      type(saikai_handle), value :: handle
      integer(c_int) :: rc
    end function
    ! The handle that saikai_init began; none is open in it if there is none.
    function saikai_default() bind(c, name='saikai_default_fortran') result(handle)
      import
      type(saikai_handle) :: handle
    end function
    function saikai_finalize() bind(c, name='saikai_finalize') result(rc)
      import
      integer(c_int) :: rc
    end function
    function c_restored_place() bind(c, name='saikai_restored_place') result(place)
      import
      integer(c_int) :: place
    end function
    function h_restored_place(handle) bind(c, name='saikai_h_restored_place') result(place)
      import
      type(saikai_handle), value :: handle
      integer(c_int) :: place
    end function
    function c_should_stop() bind(c, name='saikai_should_stop') result(stop_now)
      import
      integer(c_int) :: stop_now
    end function
    function h_should_stop(handle) bind(c, name='saikai_h_should_stop') result(stop_now)
      import
      type(saikai_handle), value :: handle
      integer(c_int) :: stop_now
    end function
    function c_wait() bind(c, name='saikai_wait') result(rc)
      import
      integer(c_int) :: rc
    end function
    function h_wait(handle) bind(c, name='saikai_h_wait') result(rc)
      import
      type(saikai_handle), value :: handle
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

  ! What C gives as text.
  function f_text(p) result(text)
    type(c_ptr), intent(in) :: p
    character(:), allocatable :: text
    character(kind=c_char), pointer :: c(:)
    integer :: i, n
    n = int(c_strlen(p))
    call c_f_pointer(p, c, [n])
    allocate (character(n) :: text)
    do i = 1, n
      text(i:i) = c(i)
    end do
  end function

  function protect_real32(name, array) result(rc)
    character(*), intent(in) :: name
    type(saikai_real32_array), intent(inout), target :: array
    integer(c_int) :: rc
    rc = c_resizable(c_text(name), c_funloc(look_real32), c_funloc(resize_real32), c_loc(array), 1_c_size_t, SAIKAI_F32)
  end function

  function look_real32(arg, at, count) bind(c, name='') result(rc)
    type(c_ptr), value :: arg
    type(c_ptr), intent(out) :: at
    integer(c_size_t), intent(out) :: count
    integer(c_int) :: rc
    type(saikai_real32_array), pointer :: x
    call c_f_pointer(arg, x)
    rc = 0
    at = c_null_ptr
    count = 0
    if (allocated(x%a)) count = size(x%a, kind=c_size_t)
    if (count > 0) at = c_loc(x%a)
  end function

  function resize_real32(arg, count, at) bind(c, name='') result(rc)
    type(c_ptr), value :: arg
    integer(c_size_t), value :: count
    type(c_ptr), intent(out) :: at
    integer(c_int) :: rc
    type(saikai_real32_array), pointer :: x
    call c_f_pointer(arg, x)
    at = c_null_ptr
    if (allocated(x%a)) deallocate (x%a)
    allocate (x%a(count), stat=rc)
    if (rc == 0 .and. count > 0) at = c_loc(x%a)
  end function

  function protect_real64(name, array) result(rc)
    character(*), intent(in) :: name
    type(saikai_real64_array), intent(inout), target :: array
    integer(c_int) :: rc
    rc = c_resizable(c_text(name), c_funloc(look_real64), c_funloc(resize_real64), c_loc(array), 1_c_size_t, SAIKAI_F64)
  end function

  function look_real64(arg, at, count) bind(c, name='') result(rc)
    type(c_ptr), value :: arg
    type(c_ptr), intent(out) :: at
    integer(c_size_t), intent(out) :: count
    integer(c_int) :: rc
    type(saikai_real64_array), pointer :: x
    call c_f_pointer(arg, x)
    rc = 0
    at = c_null_ptr
    count = 0
    if (allocated(x%a)) count = size(x%a, kind=c_size_t)
    if (count > 0) at = c_loc(x%a)
  end function

  function resize_real64(arg, count, at) bind(c, name='') result(rc)
    type(c_ptr), value :: arg
    integer(c_size_t), value :: count
    type(c_ptr), intent(out) :: at
    integer(c_int) :: rc
    type(saikai_real64_array), pointer :: x
    call c_f_pointer(arg, x)
    at = c_null_ptr
    if (allocated(x%a)) deallocate (x%a)
    allocate (x%a(count), stat=rc)
    if (rc == 0 .and. count > 0) at = c_loc(x%a)
  end function

  function protect_int32(name, array) result(rc)
    character(*), intent(in) :: name
    type(saikai_int32_array), intent(inout), target :: array
    integer(c_int) :: rc
    rc = c_resizable(c_text(name), c_funloc(look_int32), c_funloc(resize_int32), c_loc(array), 1_c_size_t, SAIKAI_I32)
  end function

  function look_int32(arg, at, count) bind(c, name='') result(rc)
    type(c_ptr), value :: arg
    type(c_ptr), intent(out) :: at
    integer(c_size_t), intent(out) :: count
    integer(c_int) :: rc
    type(saikai_int32_array), pointer :: x
    call c_f_pointer(arg, x)
    rc = 0
    at = c_null_ptr
    count = 0
    if (allocated(x%a)) count = size(x%a, kind=c_size_t)
    if (count > 0) at = c_loc(x%a)
  end function

  function resize_int32(arg, count, at) bind(c, name='') result(rc)
    type(c_ptr), value :: arg
    integer(c_size_t), value :: count
    type(c_ptr), intent(out) :: at
    integer(c_int) :: rc
    type(saikai_int32_array), pointer :: x
    call c_f_pointer(arg, x)
    at = c_null_ptr
    if (allocated(x%a)) deallocate (x%a)
    allocate (x%a(count), stat=rc)
    if (rc == 0 .and. count > 0) at = c_loc(x%a)
  end function

  function protect_int64(name, array) result(rc)
    character(*), intent(in) :: name
    type(saikai_int64_array), intent(inout), target :: array
    integer(c_int) :: rc
    rc = c_resizable(c_text(name), c_funloc(look_int64), c_funloc(resize_int64), c_loc(array), 1_c_size_t, SAIKAI_I64)
  end function

  function look_int64(arg, at, count) bind(c, name='') result(rc)
    type(c_ptr), value :: arg
    type(c_ptr), intent(out) :: at
    integer(c_size_t), intent(out) :: count
    integer(c_int) :: rc
    type(saikai_int64_array), pointer :: x
    call c_f_pointer(arg, x)
    rc = 0
    at = c_null_ptr
    count = 0
    if (allocated(x%a)) count = size(x%a, kind=c_size_t)
    if (count > 0) at = c_loc(x%a)
  end function

  function resize_int64(arg, count, at) bind(c, name='') result(rc)
    type(c_ptr), value :: arg
    integer(c_size_t), value :: count
    type(c_ptr), intent(out) :: at
    integer(c_int) :: rc
    type(saikai_int64_array), pointer :: x
    call c_f_pointer(arg, x)
    at = c_null_ptr
    if (allocated(x%a)) deallocate (x%a)
    allocate (x%a(count), stat=rc)
    if (rc == 0 .and. count > 0) at = c_loc(x%a)
  end function

  ! Any other array that moves, as in C: look and resize are c_funloc of procedures with bind(c), which saikai.h describes.
  function saikai_protect_resizable(name, look, resize, arg, width, type) result(rc)
    character(*), intent(in) :: name
    type(c_funptr), intent(in) :: look, resize
    type(c_ptr), intent(in) :: arg
    integer(c_int), intent(in) :: width, type
    integer(c_int) :: rc
    rc = c_resizable(c_text(name), look, resize, arg, int(max(width, 0_c_int), c_size_t), type)
  end function

  function saikai_protect_stream(name, write, read) result(rc)
    character(*), intent(in) :: name
    procedure(saikai_stream) :: write, read
    integer(c_int) :: rc
    rc = c_stream(c_text(name), c_funloc(write_stream), c_funloc(read_stream), kept_stream(saikai_handle(), name, write, read))
  end function

  ! The same name may be a stream of several handles.
  function kept_stream(handle, name, write, read) result(arg)
    type(saikai_handle), intent(in) :: handle
    character(*), intent(in) :: name
    procedure(saikai_stream) :: write, read
    type(c_ptr) :: arg
    type(stream_of), pointer :: s
    s => streams
    do while (associated(s))
      if (s%name == trim(name) .and. is_same(s%of, handle)) exit
      s => s%next
    end do
    if (.not. associated(s)) then
      allocate (s)
      s%of = handle
      s%name = trim(name)
      s%next => streams
      streams => s
    end if
    s%write => write
    s%read => read
    arg = c_loc(s)
  end function

  pure function is_same(a, b) result(same)
    type(saikai_handle), intent(in) :: a, b
    logical :: same
    same = transfer(a%at, 0_c_intptr_t) == transfer(b%at, 0_c_intptr_t)
  end function

  function write_stream(file, arg) bind(c, name='') result(rc)
    type(c_ptr), value :: file, arg
    integer(c_int) :: rc
    rc = with_unit(file, arg, .false.)
  end function

  function read_stream(file, arg) bind(c, name='') result(rc)
    type(c_ptr), value :: file, arg
    integer(c_int) :: rc
    rc = with_unit(file, arg, .true.)
  end function

  function with_unit(file, arg, reads) result(rc)
    type(c_ptr), intent(in) :: file, arg
    logical, intent(in) :: reads
    integer(c_int) :: rc, fd
    type(stream_of), pointer :: s
    character(64) :: path
    character(kind=c_char) :: c(64)
    integer :: unit, said, failed
    call c_f_pointer(arg, s)
    fd = c_memory_open(file, merge(1_c_int, 0_c_int, reads), c, int(size(c), c_int))
    rc = fd
    if (fd < 0) return
    call take_path(c, path)
    said = 0
    open (newunit=unit, file=trim(path), access='stream', form='unformatted', status='old', action='readwrite', iostat=failed)
    if (failed == 0) then
      if (reads) then
        call s%read(unit, said)
      else
        call s%write(unit, said)
      end if
      close (unit, iostat=failed)
    end if
    rc = c_memory_close(file, fd, merge(1_c_int, 0_c_int, .not. reads))
    if (rc == 0 .and. failed /= 0) rc = 1
    if (rc == 0) rc = int(said, c_int)
  end function

  function saikai_set(name, attribute, value) result(rc)
    character(*), intent(in) :: name, attribute, value
    integer(c_int) :: rc
    rc = c_set(c_text(name), c_text(attribute), c_text(value))
  end function

  ! A halo is in the order of Fortran's indices here, too: before in each dimension, and then behind.
  function sizes_long(name, attribute, sizes) result(rc)
    character(*), intent(in) :: name, attribute
    integer(c_long), intent(in) :: sizes(:)
    integer(c_int) :: rc
    rc = c_set_sizes(c_text(name), c_text(attribute), size(sizes, kind=c_size_t), c_order(attribute, sizes))
  end function

  pure function c_order(attribute, sizes) result(c)
    character(*), intent(in) :: attribute
    integer(c_long), intent(in) :: sizes(:)
    integer(c_size_t) :: c(size(sizes))
    integer :: half
    half = size(sizes)/2
    c = int(sizes, c_size_t)
    if (attribute == 'halo' .and. 2*half == size(sizes)) c = int([sizes(half:1:-1), sizes(2*half:half + 1:-1)], c_size_t)
  end function

  function sizes_int(name, attribute, sizes) result(rc)
    character(*), intent(in) :: name, attribute
    integer(c_int), intent(in) :: sizes(:)
    integer(c_int) :: rc
    rc = sizes_long(name, attribute, int(sizes, c_long))
  end function

  ! Without an argument lines go to stderr again.
  function saikai_set_log(write) result(rc)
    procedure(saikai_log), optional :: write
    integer(c_int) :: rc
    rc = c_set_log(c_null_funptr, c_null_ptr)
    hears => null()
    if (.not. present(write)) return
    hears => write
    rc = c_set_log(c_funloc(hear), c_null_ptr)
  end function

  subroutine hear(user, level, line) bind(c, name='')
    type(c_ptr), value :: user, line
    integer(c_int), value :: level
    if (associated(hears) .and. .not. c_associated(user)) call hears(int(level), f_text(line))
  end subroutine

  ! Recovery in place, as in saikai.h: body is the program from saikai_init to saikai_finalize. It is left wherever it calls MPI and
  ! runs again from its beginning: what it allocates lives in modules or in the main program and is deallocated there, if it is
  ! allocated, before it is allocated.
  subroutine in_place(body)
    procedure(saikai_body) :: body
    runs => body
    call c_in_place(c_funloc(run), c_null_ptr)
  end subroutine

  subroutine run(arg) bind(c, name='')
    type(c_ptr), value :: arg
    if (.not. c_associated(arg)) call runs()
  end subroutine

  subroutine in_place_of(body, arg)
    procedure(saikai_body_of) :: body
    type(c_ptr), intent(in) :: arg
    call c_in_place(c_funloc(body), arg)
  end subroutine

  function restart_from_long(generation, iteration) result(rc)
    character(*), intent(in) :: generation
    integer(c_long), intent(inout) :: iteration
    integer(c_int) :: rc
    rc = c_restart_from(c_text(generation), iteration)
  end function

  function restart_from_int(generation, iteration) result(rc)
    character(*), intent(in) :: generation
    integer(c_int), intent(inout) :: iteration
    integer(c_int) :: rc
    integer(c_long) :: at
    at = iteration
    rc = c_restart_from(c_text(generation), at)
    if (at > huge(iteration)) then
      rc = SAIKAI_EINVAL
    else
      iteration = int(at, c_int)
    end if
  end function

  function saikai_get_status(status) result(rc)
    type(saikai_status), intent(out) :: status
    integer(c_int) :: rc
    rc = c_status(status, c_sizeof(status))
  end function

  function saikai_version() result(text)
    character(:), allocatable :: text
    text = f_text(c_version())
  end function

  function saikai_error_name(code) result(text)
    integer(c_int), intent(in) :: code
    character(:), allocatable :: text
    text = f_text(c_error_name(code))
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
    text = f_text(c_error())
  end function

  ! ---- with a handle ----

  function saikai_close(handle) result(rc)
    type(saikai_handle), intent(inout) :: handle
    integer(c_int) :: rc
    rc = c_close(handle)
    handle%at = c_null_ptr
  end function

  ! Whether saikai_open succeeded, and saikai_close was not called with this copy.
  function saikai_is_open(handle) result(is)
    type(saikai_handle), intent(in) :: handle
    logical :: is
    is = c_associated(handle%at)
  end function

  function h_protect_real32(handle, name, array) result(rc)
    type(saikai_handle), intent(in) :: handle
    character(*), intent(in) :: name
    type(saikai_real32_array), intent(inout), target :: array
    integer(c_int) :: rc
    rc = ch_resizable(handle, c_text(name), c_funloc(look_real32), c_funloc(resize_real32), c_loc(array), 1_c_size_t, SAIKAI_F32)
  end function

  function h_protect_real64(handle, name, array) result(rc)
    type(saikai_handle), intent(in) :: handle
    character(*), intent(in) :: name
    type(saikai_real64_array), intent(inout), target :: array
    integer(c_int) :: rc
    rc = ch_resizable(handle, c_text(name), c_funloc(look_real64), c_funloc(resize_real64), c_loc(array), 1_c_size_t, SAIKAI_F64)
  end function

  function h_protect_int32(handle, name, array) result(rc)
    type(saikai_handle), intent(in) :: handle
    character(*), intent(in) :: name
    type(saikai_int32_array), intent(inout), target :: array
    integer(c_int) :: rc
    rc = ch_resizable(handle, c_text(name), c_funloc(look_int32), c_funloc(resize_int32), c_loc(array), 1_c_size_t, SAIKAI_I32)
  end function

  function h_protect_int64(handle, name, array) result(rc)
    type(saikai_handle), intent(in) :: handle
    character(*), intent(in) :: name
    type(saikai_int64_array), intent(inout), target :: array
    integer(c_int) :: rc
    rc = ch_resizable(handle, c_text(name), c_funloc(look_int64), c_funloc(resize_int64), c_loc(array), 1_c_size_t, SAIKAI_I64)
  end function

  function h_protect_resizable(handle, name, look, resize, arg, width, type) result(rc)
    type(saikai_handle), intent(in) :: handle
    character(*), intent(in) :: name
    type(c_funptr), intent(in) :: look, resize
    type(c_ptr), intent(in) :: arg
    integer(c_int), intent(in) :: width, type
    integer(c_int) :: rc
    rc = ch_resizable(handle, c_text(name), look, resize, arg, int(max(width, 0_c_int), c_size_t), type)
  end function

  function h_protect_stream(handle, name, write, read) result(rc)
    type(saikai_handle), intent(in) :: handle
    character(*), intent(in) :: name
    procedure(saikai_stream) :: write, read
    integer(c_int) :: rc
    rc = ch_stream(handle, c_text(name), c_funloc(write_stream), c_funloc(read_stream), kept_stream(handle, name, write, read))
  end function

  function h_set(handle, name, attribute, value) result(rc)
    type(saikai_handle), intent(in) :: handle
    character(*), intent(in) :: name, attribute, value
    integer(c_int) :: rc
    rc = ch_set(handle, c_text(name), c_text(attribute), c_text(value))
  end function

  function h_sizes_long(handle, name, attribute, sizes) result(rc)
    type(saikai_handle), intent(in) :: handle
    character(*), intent(in) :: name, attribute
    integer(c_long), intent(in) :: sizes(:)
    integer(c_int) :: rc
    rc = ch_set_sizes(handle, c_text(name), c_text(attribute), size(sizes, kind=c_size_t), c_order(attribute, sizes))
  end function

  function h_sizes_int(handle, name, attribute, sizes) result(rc)
    type(saikai_handle), intent(in) :: handle
    character(*), intent(in) :: name, attribute
    integer(c_int), intent(in) :: sizes(:)
    integer(c_int) :: rc
    rc = h_sizes_long(handle, name, attribute, int(sizes, c_long))
  end function

  function h_replicated(handle, name) result(rc)
    type(saikai_handle), intent(in) :: handle
    character(*), intent(in) :: name
    integer(c_int) :: rc
    rc = ch_replicated(handle, c_text(name))
  end function

  function h_bound_int(handle, name, kind, value) result(rc)
    type(saikai_handle), intent(in) :: handle
    character(*), intent(in) :: name
    integer(c_int), intent(in) :: kind
    real(c_double), intent(in) :: value
    integer(c_int) :: rc
    rc = ch_bound(handle, c_text(name), kind, value)
  end function

  function h_bound_long(handle, name, kind, value) result(rc)
    type(saikai_handle), intent(in) :: handle
    character(*), intent(in) :: name
    integer(c_long), intent(in) :: kind
    real(c_double), intent(in) :: value
    integer(c_int) :: rc
    rc = ch_bound(handle, c_text(name), int(max(-1_c_long, min(kind, 99_c_long)), c_int), value)
  end function

  function h_unprotect(handle, name) result(rc)
    type(saikai_handle), intent(in) :: handle
    character(*), intent(in) :: name
    integer(c_int) :: rc
    rc = ch_unprotect(handle, c_text(name))
  end function

  function h_restart_from_long(handle, generation, iteration) result(rc)
    type(saikai_handle), intent(in) :: handle
    character(*), intent(in) :: generation
    integer(c_long), intent(inout) :: iteration
    integer(c_int) :: rc
    rc = ch_restart_from(handle, c_text(generation), iteration)
  end function

  function h_restart_from_int(handle, generation, iteration) result(rc)
    type(saikai_handle), intent(in) :: handle
    character(*), intent(in) :: generation
    integer(c_int), intent(inout) :: iteration
    integer(c_int) :: rc
    integer(c_long) :: at
    at = iteration
    rc = ch_restart_from(handle, c_text(generation), at)
    if (at > huge(iteration)) then
      rc = SAIKAI_EINVAL
    else
      iteration = int(at, c_int)
    end if
  end function

  function h_checkpoint_int(handle, iteration) result(rc)
    type(saikai_handle), intent(in) :: handle
    integer(c_int), intent(in) :: iteration
    integer(c_int) :: rc
    rc = ch_checkpoint(handle, int(iteration, c_long))
  end function

  function h_checkpoint_long(handle, iteration) result(rc)
    type(saikai_handle), intent(in) :: handle
    integer(c_long), intent(in) :: iteration
    integer(c_int) :: rc
    rc = ch_checkpoint(handle, iteration)
  end function

  function h_now_int(handle, iteration) result(rc)
    type(saikai_handle), intent(in) :: handle
    integer(c_int), intent(in) :: iteration
    integer(c_int) :: rc
    rc = ch_now(handle, int(iteration, c_long))
  end function

  function h_now_long(handle, iteration) result(rc)
    type(saikai_handle), intent(in) :: handle
    integer(c_long), intent(in) :: iteration
    integer(c_int) :: rc
    rc = ch_now(handle, iteration)
  end function

  function h_begin_int(handle, iteration) result(rc)
    type(saikai_handle), intent(in) :: handle
    integer(c_int), intent(in) :: iteration
    integer(c_int) :: rc
    rc = ch_begin(handle, int(iteration, c_long))
  end function

  function h_begin_long(handle, iteration) result(rc)
    type(saikai_handle), intent(in) :: handle
    integer(c_long), intent(in) :: iteration
    integer(c_int) :: rc
    rc = ch_begin(handle, iteration)
  end function

  function h_at_int(handle, place, iteration) result(rc)
    type(saikai_handle), intent(in) :: handle
    integer(c_int), intent(in) :: place, iteration
    integer(c_int) :: rc
    rc = ch_checkpoint_at(handle, place, int(iteration, c_long))
  end function

  function h_at_long(handle, place, iteration) result(rc)
    type(saikai_handle), intent(in) :: handle
    integer(c_long), intent(in) :: place, iteration
    integer(c_int) :: rc
    rc = ch_checkpoint_at(handle, int(max(-1_c_long, min(place, 99_c_long)), c_int), iteration)
  end function

  function h_at_int_long(handle, place, iteration) result(rc)
    type(saikai_handle), intent(in) :: handle
    integer(c_int), intent(in) :: place
    integer(c_long), intent(in) :: iteration
    integer(c_int) :: rc
    rc = ch_checkpoint_at(handle, place, iteration)
  end function

  function h_at_long_int(handle, place, iteration) result(rc)
    type(saikai_handle), intent(in) :: handle
    integer(c_long), intent(in) :: place
    integer(c_int), intent(in) :: iteration
    integer(c_int) :: rc
    rc = h_at_long(handle, place, int(iteration, c_long))
  end function

  function h_checkpoint_end(handle, ok) result(rc)
    type(saikai_handle), intent(in) :: handle
    logical, intent(in) :: ok
    integer(c_int) :: rc
    rc = ch_end(handle, merge(1_c_int, 0_c_int, ok))
  end function

  function h_file_path(handle, name, path) result(rc)
    type(saikai_handle), intent(in) :: handle
    character(*), intent(in) :: name
    character(*), intent(out) :: path
    integer(c_int) :: rc
    character(kind=c_char) :: c(len(path) + 1)
    c = c_null_char
    rc = ch_path(handle, c_text(name), c, int(size(c), c_size_t))
    call take_path(c, path)
  end function

  function h_restored_file(handle, name, path) result(rc)
    type(saikai_handle), intent(in) :: handle
    character(*), intent(in) :: name
    character(*), intent(out) :: path
    integer(c_int) :: rc
    character(kind=c_char) :: c(len(path) + 1)
    c = c_null_char
    rc = ch_restored(handle, c_text(name), c, int(size(c), c_size_t))
    call take_path(c, path)
  end function

  function h_get_status(handle, status) result(rc)
    type(saikai_handle), intent(in) :: handle
    type(saikai_status), intent(out) :: status
    integer(c_int) :: rc
    rc = ch_status(handle, status, c_sizeof(status))
  end function
end module saikai
