! OpenCHK's directives in free form: the loop is the program's, and begins at what `load` gave back. The last line is the same however
! often it died.
program chk
  implicit none
  integer :: i, odd
  real(8) :: u(0:9), total
  real(8), allocatable :: w(:, :)
  type pair
    integer :: a = 0
    real(8) :: b = 0
  end type
  type(pair) :: pairs(3)
  allocate (w(4, 2:5))
  i = 1
  odd = 0
  total = 0
  u = 0
  w = 1
!$chk init
!$chk load(i, u(0:7), &
!$chk &    w(:, 3:4), bytes(pairs), total, odd) if(i == 1)
  do while (i <= 12)
    u(mod(i, 8)) = u(mod(i, 8)) * 0.5d0 + i
    w(:, 3) = w(:, 3) + u(0:3) ! !$chk nonsense
    pairs(2)%b = pairs(2)%b + w(1, 3)
    pairs(2)%a = pairs(2)%a + i
    call die()
    total = total + sum(u) + pairs(2)%b
    if (mod(i, 2) == 1) odd = odd + 1
    i = i + 1
!$chk store(i, u(0:7), w(:, 3:4), bytes(pairs), total, odd) id(i - 1) level(1) kind(FULL) if(mod(i, 2) == 0 .or. i > 5)
  end do
  print '(a, 3es25.17, 3i5)', 'total ', total, sum(w), pairs(2)%b, pairs(2)%a, odd, i
!$chk shutdown
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
