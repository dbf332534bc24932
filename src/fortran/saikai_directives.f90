! What !$MICP and !$chk become: saikaifort writes calls of these (saikaifort --show prints them). saikai/directives.h says what each does.
module saikai_directives
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_long
  use saikai, only: saikai_protect, saikai_protect_bytes, saikai_protect_global, saikai_restart, saikai_checkpoint_now
  implicit none
  private :: c_char, c_int, c_long

  integer, parameter :: saikai_long = c_long

  ! As struct saikai_loop.
  type, bind(c) :: saikai_loop
    integer(c_int) :: resume = 0, skipped = 0, open = 0, turned = 0, first = 0
    integer(c_long) :: every = 0, forced = 0
  end type

  type(saikai_loop), save, target :: saikai_l ! one loop at a time is enabled
  integer(c_int), save :: saikai_rc = 0
  integer(c_long), save :: saikai_at = 0

  interface
    ! comm: an integer of mpi or mpif.h, or type(MPI_Comm) of mpi_f08; all ranks without.
    function saikai_loop_init(comm, config) bind(c, name='saikai_loop_init_fortran') result(rc)
      import
      type(*), intent(in), optional :: comm(..)
      character(*, kind=c_char), intent(in), optional :: config
      integer(c_int) :: rc
    end function
    function saikai_loop_fini() bind(c, name='saikai_loop_fini') result(rc)
      import
      integer(c_int) :: rc
    end function
    function saikai_loop_begin(loop, which, every) bind(c, name='saikai_loop_begin_fortran') result(rc)
      import
      type(saikai_loop), intent(inout), target :: loop
      character(*, kind=c_char), intent(in) :: which
      integer(c_long), value :: every
      integer(c_int) :: rc
    end function
    function saikai_loop_bound(name, array, bound) bind(c, name='saikai_loop_bound_fortran') result(rc)
      import
      character(*, kind=c_char), intent(in) :: name
      type(*), intent(in) :: array(..)
      character(*, kind=c_char), intent(in) :: bound
      integer(c_int) :: rc
    end function
    function saikai_loop_restore(loop) bind(c, name='saikai_loop_restore') result(rc)
      import
      type(saikai_loop), intent(inout), target :: loop
      integer(c_int) :: rc
    end function
    subroutine saikai_loop_next(loop) bind(c, name='saikai_loop_next')
      import
      type(saikai_loop), intent(inout), target :: loop
    end subroutine
    subroutine saikai_loop_candidate(loop, place) bind(c, name='saikai_loop_candidate')
      import
      type(saikai_loop), intent(inout), target :: loop
      integer(c_int), value :: place
    end subroutine
    subroutine saikai_loop_end(loop) bind(c, name='saikai_loop_end')
      import
      type(saikai_loop), intent(inout), target :: loop
    end subroutine
  end interface
end module saikai_directives
