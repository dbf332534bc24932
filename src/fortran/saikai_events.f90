! Events of a job, as saikai/event.h has them: `use saikai_events` beside `use saikai`. Each function takes a handle before its other
! arguments, too. What it does, waits for and returns is said there.
module saikai_events
  use, intrinsic :: iso_c_binding
  use saikai, only: saikai_handle
  implicit none
  private

  integer(c_int), parameter, public :: SAIKAI_EVENT_DEBUG = 0, SAIKAI_EVENT_INFO = 1, SAIKAI_EVENT_WARNING = 2, &
    SAIKAI_EVENT_ERROR = 3, SAIKAI_EVENT_FATAL = 4

  type, public :: saikai_event_field
    character(:), allocatable :: key, value
  end type

  type, public :: saikai_event
    character(:), allocatable :: space, name, host, job ! host, job: '' is not known
    integer(c_int) :: severity = SAIKAI_EVENT_INFO
    integer(c_int) :: rank = -1                         ! -1: of none alone
    integer(c_long_long) :: time_ms = 0, deadline_ms = 0 ! since 1970; deadline_ms 0: none
    type(saikai_event_field), allocatable :: field(:)
  end type

  public :: saikai_event_publish, saikai_event_next, saikai_event_value

  ! rc = saikai_event_publish([handle,] name, severity [, fields]): fields are texts 'KEY=VALUE', all of one length; blanks at the end of
  ! name and fields do not count.
  interface saikai_event_publish
    module procedure publish, h_publish
  end interface
  ! rc = saikai_event_next([handle,] filter, seconds, event): 1 and the event, 0: none so far, or a negative code; then event stays.
  interface saikai_event_next
    module procedure next, h_next
  end interface

  ! As in event.h.
  integer, parameter :: most_fields = 16, key_bytes = 32, value_bytes = 256
  type, bind(c) :: c_field
    character(kind=c_char) :: key(key_bytes), value(value_bytes)
  end type
  type, bind(c) :: c_event
    character(kind=c_char) :: space(8), name(48)
    integer(c_int) :: severity, rank
    character(kind=c_char) :: host(256), job(104)
    integer(c_long_long) :: time_ms, deadline_ms
    integer(c_int) :: n_fields
    type(c_field) :: field(most_fields)
  end type

  interface
    function c_publish(name, severity, fields) bind(c, name='saikai_event_publish') result(rc)
      import
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: severity
      type(c_ptr), intent(in) :: fields(*)
      integer(c_int) :: rc
    end function
    function ch_publish(handle, name, severity, fields) bind(c, name='saikai_h_event_publish') result(rc)
      import
      type(saikai_handle), value :: handle
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: severity
      type(c_ptr), intent(in) :: fields(*)
      integer(c_int) :: rc
    end function
    function c_next(filter, seconds, event, size_bytes) bind(c, name='saikai_event_next') result(rc)
      import
      character(kind=c_char), intent(in) :: filter(*)
      real(c_double), value :: seconds
      type(c_event), intent(out) :: event
      integer(c_size_t), value :: size_bytes
      integer(c_int) :: rc
    end function
    function ch_next(handle, filter, seconds, event, size_bytes) bind(c, name='saikai_h_event_next') result(rc)
      import
      type(saikai_handle), value :: handle
      character(kind=c_char), intent(in) :: filter(*)
      real(c_double), value :: seconds
      type(c_event), intent(out) :: event
      integer(c_size_t), value :: size_bytes
      integer(c_int) :: rc
    end function
  end interface

contains

  ! The value of a field, '' when the event has no such one.
  pure function saikai_event_value(event, key) result(value)
    type(saikai_event), intent(in) :: event
    character(*), intent(in) :: key
    character(:), allocatable :: value
    integer :: i
    value = ''
    if (.not. allocated(event%field)) return
    do i = 1, size(event%field)
      if (event%field(i)%key == key) value = event%field(i)%value
    end do
  end function

  function publish(name, severity, fields) result(rc)
    character(*), intent(in) :: name
    integer, intent(in) :: severity
    character(*), intent(in), optional :: fields(:)
    integer(c_int) :: rc
    rc = publish_from(name, severity, fields)
  end function

  function h_publish(handle, name, severity, fields) result(rc)
    type(saikai_handle), intent(in) :: handle
    character(*), intent(in) :: name
    integer, intent(in) :: severity
    character(*), intent(in), optional :: fields(:)
    integer(c_int) :: rc
    rc = publish_from(name, severity, fields, handle)
  end function

  ! C gets an array of texts that ends with a null pointer.
  function publish_from(name, severity, fields, handle) result(rc)
    character(*), intent(in) :: name
    integer, intent(in) :: severity
    character(*), intent(in), optional :: fields(:)
    type(saikai_handle), intent(in), optional :: handle
    integer(c_int) :: rc
    character(:), allocatable, target :: text
    type(c_ptr), allocatable :: at(:)
    integer, allocatable :: begin(:)
    integer :: i, n
    n = 0
    if (present(fields)) n = size(fields)
    allocate (at(n + 1), begin(n))
    text = ''
    do i = 1, n
      begin(i) = len(text) + 1
      text = text//trim(fields(i))//c_null_char
    end do
    do i = 1, n
      at(i) = c_loc(text(begin(i):begin(i)))
    end do
    at(n + 1) = c_null_ptr
    if (present(handle)) then
      rc = ch_publish(handle, c_text(name), int(severity, c_int), at)
    else
      rc = c_publish(c_text(name), int(severity, c_int), at)
    end if
  end function

  function next(filter, seconds, event) result(rc)
    character(*), intent(in) :: filter
    real(c_double), intent(in) :: seconds
    type(saikai_event), intent(inout) :: event
    integer(c_int) :: rc
    type(c_event) :: e
    rc = c_next(c_text(filter), seconds, e, c_sizeof(e))
    if (rc == 1) event = from_c(e)
  end function

  function h_next(handle, filter, seconds, event) result(rc)
    type(saikai_handle), intent(in) :: handle
    character(*), intent(in) :: filter
    real(c_double), intent(in) :: seconds
    type(saikai_event), intent(inout) :: event
    integer(c_int) :: rc
    type(c_event) :: e
    rc = ch_next(handle, c_text(filter), seconds, e, c_sizeof(e))
    if (rc == 1) event = from_c(e)
  end function

  function from_c(e) result(event)
    type(c_event), intent(in) :: e
    type(saikai_event) :: event
    integer :: i
    event%space = f_text(e%space)
    event%name = f_text(e%name)
    event%host = f_text(e%host)
    event%job = f_text(e%job)
    event%severity = e%severity
    event%rank = e%rank
    event%time_ms = e%time_ms
    event%deadline_ms = e%deadline_ms
    allocate (event%field(max(0, min(int(e%n_fields), most_fields))))
    do i = 1, size(event%field)
      event%field(i)%key = f_text(e%field(i)%key)
      event%field(i)%value = f_text(e%field(i)%value)
    end do
  end function

  ! Up to the zero.
  pure function f_text(c) result(text)
    character(kind=c_char), intent(in) :: c(:)
    character(:), allocatable :: text
    integer :: i, n
    n = 0
    do while (n < size(c))
      if (c(n + 1) == c_null_char) exit
      n = n + 1
    end do
    allocate (character(n) :: text)
    do i = 1, n
      text(i:i) = c(i)
    end do
  end function

  pure function c_text(text) result(c)
    character(*), intent(in) :: text
    character(kind=c_char) :: c(len_trim(text) + 1)
    integer :: i
    do i = 1, len_trim(text)
      c(i) = text(i:i)
    end do
    c(len_trim(text) + 1) = c_null_char
  end function
end module saikai_events
