! What Fortran programs protect: sections with strides, components of arrays of a type, pointers, all kinds of integers. The
! first start saves, the second one compares; both refuse what cannot be saved.
program kinds
  use mpi
  use saikai
  use, intrinsic :: iso_fortran_env, only: int64, int32, int16, real32, real64, error_unit
  use, intrinsic :: iso_c_binding, only: c_int, c_double
  implicit none
  type particle
    integer :: id
    real(real64) :: x
    complex(real64) :: v
    real(real32) :: f(3)
  end type
  type, bind(c) :: plain
    integer(c_int) :: a
    real(c_double) :: b
  end type
  type hidden
    integer :: n
    real, allocatable :: v(:)
  end type
  type(particle), target :: p(5)
  type(particle), allocatable, target :: q(:)
  type(plain), target :: b(4)
  type(hidden), target :: h(2)
  real(real64), target :: u(4, 6), w(10)
  real(real64), pointer :: even(:), whole(:, :)
  complex(real64), target :: z(3)
  character(7), target :: s(2)
  logical, target :: l(3)
  integer(int16), target :: small(2)
  integer(int64), target :: big
  integer(int64) :: it, place
  integer :: ierr, found, wrong

  call MPI_Init(ierr)
  if (saikai_init(int(MPI_COMM_WORLD, int64), "restart.mode=always; schedule.first=no; lib.on_error=return") < 0) call fail()
  allocate (q(3))
  even => w(2::2)
  whole => u
  call clear()

  call good(saikai_protect("p%x", p%x))
  call good(saikai_protect("p%v", p(5:1:-2)%v))      ! 16 bytes of 48, backwards
  call good(saikai_protect("p%f2", p%f(2)))
  call good(saikai_protect("q%id", q%id))
  call good(saikai_protect("even", even))            ! a pointer's target
  call good(saikai_protect("whole", whole(:, 3)))
  call good(saikai_protect("rows", u(1:3:2, ::3)))
  call good(saikai_protect("z%re", z%re))
  call good(saikai_protect("s", s(:)(2:4)))
  call good(saikai_protect("l", l))
  call good(saikai_protect("small", small(2)))
  call good(saikai_protect("big", big))
  call good(saikai_protect_bytes("b", b))
  call good(saikai_protect_global("w", w(1::2), [5], [0_int64]))
  call good(saikai_bound("even", int(SAIKAI_EXACT, int64), 0.0_real64))

  call bad(saikai_protect("b", b), "derived type")
  call bad(saikai_protect("h", h), "allocatable or pointer components")
  call bad(saikai_protect("one", h(1)), "saikai_protect_bytes")
  call bad(saikai_protect_global("p", p, [5], [0]), "derived type")
  call bad(saikai_protect_global("w", w, [10.0], [0]), "integers of 32 or 64 bits")
  call bad(saikai_protect_global("w", w, [10, 1], [0]), "as many integers")
  call bad(saikai_protect_global("w", w, [10], [-1]), "offset")
  call bad(saikai_protect(repeat("x", 300), w), "1 to 255 bytes")

  it = 0
  found = saikai_restart(it)
  if (found < 0) call fail()
  wrong = 0
  if (found == 1) then
    call compare()
  else
    call fill()
  end if
  place = 3
  call good(saikai_checkpoint_at(place, it + 1))
  call good(saikai_checkpoint_at(3, it + 1))
  call good(saikai_checkpoint_at(3, int(it + 1)))
  call good(saikai_checkpoint_at(place, int(it + 1)))
  call good(saikai_checkpoint(it + 1))
  if (saikai_checkpoint_now(it + 1) /= 1) call fail()
  call good(saikai_checkpoint_begin(it + 1))
  if (saikai_finalize() < 0) call fail()
  write (*, '(a,i0,a,i0,a)') merge('resumed from ', 'began at     ', found == 1), it, ': ', wrong, ' wrong'
  call MPI_Finalize(ierr)
  if (wrong > 0) error stop 1

contains

  subroutine clear()
    p = particle(0, 0, (0, 0), 0)
    q = p(1:3)
    b = plain(0, 0)
    u = 0
    w = 0
    z = 0
    s = ' '
    l = .false.
    small = 0
    big = 0
  end subroutine

  subroutine fill()
    integer :: i
    do i = 1, 5
      p(i) = particle(i, i + 0.5_real64, cmplx(i, -i, real64), [i + 0.1, i + 0.2, i + 0.3])
    end do
    q = p(2:4)
    b = [(plain(i, 2*i), i=1, 4)]
    u = reshape([(i, i=1, 24)], [4, 6])
    w = [(i*1.5_real64, i=1, 10)]
    z = [(cmplx(i, i, real64), i=1, 3)]
    s = ['abcdefg', 'ABCDEFG']
    l = [.true., .false., .true.]
    small = 7_int16
    big = 5000000000_int64
  end subroutine

  ! What was protected is back, and what lies between is untouched.
  subroutine compare()
    integer :: i, j
    do i = 1, 5
      call check(p(i)%x == i + 0.5_real64 .and. p(i)%id == 0 .and. all(p(i)%f([1, 3]) == 0))
      call check(p(i)%v == merge(cmplx(i, -i, real64), (0.0_real64, 0.0_real64), modulo(i, 2) == 1))
      call check(p(i)%f(2) == i + 0.2)
      call check(w(2*i) == 3*i .and. w(2*i - 1) == (2*i - 1)*1.5_real64)
    end do
    call check(all(q%id == [2, 3, 4]) .and. all(q%x == 0))
    do j = 1, 6
      do i = 1, 4
        call check(u(i, j) == merge(i + 4*(j - 1), 0, j == 3 .or. (modulo(i, 2) == 1 .and. modulo(j, 3) == 1)))
      end do
    end do
    call check(all(z%re == [1, 2, 3]) .and. all(z%im == 0))
    call check(all(s == [' bcd   ', ' BCD   ']))
    call check(all(l .eqv. [.true., .false., .true.]))
    call check(small(1) == 0 .and. small(2) == 7 .and. big == 5000000000_int64)
    call check(all(b%a == [1, 2, 3, 4]) .and. all(b%b == [2, 4, 6, 8]))
  end subroutine

  subroutine check(ok)
    logical, intent(in) :: ok
    if (.not. ok) wrong = wrong + 1
  end subroutine

  subroutine good(code)
    integer, intent(in) :: code
    if (code < 0) call fail()
  end subroutine

  subroutine bad(code, because)
    integer, intent(in) :: code
    character(*), intent(in) :: because
    if (code == SAIKAI_EINVAL .and. index(saikai_error(), because) > 0) return
    write (error_unit, '(a,i0,4a)') 'kinds: ', code, ' where it must be refused because of "', because, '": ', saikai_error()
    call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  end subroutine

  subroutine fail()
    write (error_unit, '(2a)') 'kinds: ', saikai_error()
    call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  end subroutine
end program kinds
