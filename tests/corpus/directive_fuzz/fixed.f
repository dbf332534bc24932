      program p
      integer i, n
      real*8 u(30)
c$micp init
      n = 30
!$micp enable u(0-29)
!$micp& every(5)
      do 10 i = 1, n
        u(i) = u(i)
     &    + i
        if (u(i) .gt. 3) goto 20
 20     continue
!$micp ckpt
 10   continue
*$micp fini
      end
