! Fixed form, implicit types, labelled loops, allocatable arrays; the last line is the same however often it died.
      program loops
      real*8 u(30), total
      real*8, allocatable :: w(:,:)
      character*20 text
      text = '!$micp nonsense'
      total = 0
      do 5 i = 1, 30
        u(i) = 0
 5    continue
      allocate (w(0:3, 5))
      w = 1
c$micp init
!$micp enable u(1-30), total,
!$micp& w(1:2, :), k every(3)
      do 20 i = 1, 12
        k = 3 * i
        call die()
        do 10 j = 1, 30
          u(j) = u(j) * 0.5d0
     &           + k
 10     continue
!$micp ckpt
        if (i .eq. 4) go to 15
        total = total + u(i) + k
 15     continue
*$micp ckpt
        w(1:2, 2) = w(1:2, 2) + i
        call die()
 20   continue
!$micp disable
      j = 0
!$micp enable j, total, u, w
      do while (j .lt. 8)
        j = j + 1
        call die()
        total = total + j * u(j)
!$micp ckpt
      end do
!$micp disable
      print '(a, 3es25.17, i5)', 'total ', total, sum(u), sum(w), j
!$micp fini
      end program

      subroutine die()
      character*20 at
      integer, save :: calls = 0
      integer n, status
      calls = calls + 1
      call get_environment_variable('DIE_AT', at, status=status)
      if (status .ne. 0) return
      read (at, *) n
      if (n .eq. calls) call abort()
      end subroutine
