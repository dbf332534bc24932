! Calls of Fortran that the layer between program and MPI has to see as C's: with Fortran's own constants (MPI_IN_PLACE, MPI_BOTTOM,
! MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE), by mpif.h, by the module mpi, or by mpi_f08. A number is printed for each: with and without the
! layer they must be the same. All is called in saikai_in_place, where the layer is fully at work.
! compiled with -DWITH_MPIF_H, -DWITH_MPI or -DWITH_MPI_F08
#ifdef WITH_MPI_F08
#define HANDLE(kind) type(kind)
#define STATUS(s) type(MPI_Status) :: s
#define STATUSES(s, n) type(MPI_Status) :: s(n)
#else
#define HANDLE(kind) integer
#define STATUS(s) integer :: s(MPI_STATUS_SIZE)
#define STATUSES(s, n) integer :: s(MPI_STATUS_SIZE, n)
#endif
module layered
#if defined WITH_MPI_F08
  use mpi_f08
#elif defined WITH_MPI
  use mpi
#endif
  use saikai
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: output_unit
  implicit none
  private
  public :: a, rank, ranks, calls, ierr, body, out
#ifdef WITH_MPIF_H
  include 'mpif.h'
#endif
  integer, parameter :: n = 8
  integer, target :: a(n*64), b(n*64)
  integer :: rank, ranks, ierr, calls = 0
  integer :: out = output_unit ! or the file that LAYERED_OUTPUT names

contains

  subroutine body(arg) bind(c)
    type(c_ptr), value :: arg
    integer, pointer :: given(:)
    call c_f_pointer(arg, given, shape(a))
    if (.not. associated(given, a)) error stop 'the argument of the body is another one'
    call collectives()
    call messages()
    call at_the_bottom()
    call communicators()
  end subroutine

  subroutine fresh()
    integer :: i
    a = [(rank*100000 + i, i=1, size(a))]
    b = -1
  end subroutine

  ! What a rank has, in one number; those of all ranks are printed by rank 0.
  subroutine tell(what)
    character(*), intent(in) :: what
    integer :: mine(1), all(64), i
    mine = 0
    do i = 1, size(a)
      mine = ieor(ishftc(mine, 3), ieor(a(i), ishftc(b(i), 16)))
    end do
    call MPI_Gather(mine, 1, MPI_INTEGER, all, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
    calls = calls + 1
    if (rank == 0) write (out, '(a,64(1x,z8.8))') what, all(:ranks)
  end subroutine

  subroutine collectives()
    HANDLE(MPI_Request) :: q
    call fresh()
    call MPI_Allreduce(MPI_IN_PLACE, a, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    call tell('allreduce in place')
    call MPI_Iallreduce(MPI_IN_PLACE, a, n, MPI_INTEGER, MPI_BXOR, MPI_COMM_WORLD, q, ierr)
    call MPI_Wait(q, MPI_STATUS_IGNORE, ierr)
    call tell('iallreduce in place')
    call fresh()
    if (rank == 0) then
      call MPI_Reduce(MPI_IN_PLACE, a, n, MPI_INTEGER, MPI_MAX, 0, MPI_COMM_WORLD, ierr)
    else
      call MPI_Reduce(a, b, n, MPI_INTEGER, MPI_MAX, 0, MPI_COMM_WORLD, ierr)
    end if
    call tell('reduce in place')
    call fresh()
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_INTEGER, a, 3, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    call tell('allgather in place')
    call fresh()
    if (rank == 0) then
      call MPI_Gather(MPI_IN_PLACE, 0, MPI_INTEGER, a, 3, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
    else
      call MPI_Gather(a, 3, MPI_INTEGER, b, 3, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
    end if
    call tell('gather in place')
    call fresh()
    if (rank == ranks - 1) then
      call MPI_Scatter(a, 3, MPI_INTEGER, MPI_IN_PLACE, 0, MPI_INTEGER, ranks - 1, MPI_COMM_WORLD, ierr)
    else
      call MPI_Scatter(a, 3, MPI_INTEGER, b, 3, MPI_INTEGER, ranks - 1, MPI_COMM_WORLD, ierr)
    end if
    call tell('scatter in place')
    call fresh()
    call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INTEGER, a, 2, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    call tell('alltoall in place')
    call fresh()
    call MPI_Scan(MPI_IN_PLACE, a, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    call tell('scan in place')
  end subroutine

  subroutine messages()
    HANDLE(MPI_Request) :: q(2)
    STATUS(s)
    STATUSES(many, 2)
    integer :: up, down, index, left, got, which(2)
    logical :: flag
    up = modulo(rank + 1, ranks)
    down = modulo(rank - 1, ranks)
    call fresh()
    call MPI_Sendrecv(a, n, MPI_INTEGER, up, 1, b, n, MPI_INTEGER, down, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call tell('sendrecv')
    call MPI_Sendrecv_replace(a, n, MPI_INTEGER, up, 1, down, 1, MPI_COMM_WORLD, s, ierr)
    call MPI_Get_count(s, MPI_INTEGER, got, ierr)
    b(1) = got
    call tell('sendrecv_replace')
    call begin(2, q)
    call MPI_Waitall(2, q, MPI_STATUSES_IGNORE, ierr)
    call tell('waitall')
    call begin(3, q)
    call MPI_Waitall(2, q, many, ierr)
    call tell('waitall with statuses')
    call begin(4, q)
    which(1) = 0
    do left = 1, 2
      call MPI_Waitany(2, q, index, MPI_STATUS_IGNORE, ierr)
      which(1) = which(1) + index ! from 1, but from 0 in the mpi_f08 of some MPICHs
    end do
    b(n + 1) = which(1)
    call tell('waitany')
    call begin(5, q)
    left = 2
    do while (left > 0)
      call MPI_Waitsome(2, q, got, which, MPI_STATUSES_IGNORE, ierr)
      left = left - got
    end do
    call tell('waitsome')
    call begin(6, q)
    flag = .false.
    do while (.not. flag)
      call MPI_Testall(2, q, flag, MPI_STATUSES_IGNORE, ierr)
    end do
    call tell('testall')
    call begin(7, q)
    do left = 1, 2
      flag = .false.
      do while (.not. flag)
        call MPI_Test(q(left), flag, MPI_STATUS_IGNORE, ierr)
      end do
    end do
    call tell('test')
    call MPI_Isend(a, rank + 1, MPI_INTEGER, up, 8, MPI_COMM_WORLD, q(1), ierr)
    call MPI_Probe(MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, s, ierr)
    call MPI_Get_count(s, MPI_INTEGER, got, ierr)
    call MPI_Recv(b, got, MPI_INTEGER, down, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call MPI_Wait(q(1), s, ierr)
    call tell('probe')
    call fresh()
    call MPI_Recv_init(b, n, MPI_INTEGER, down, 9, MPI_COMM_WORLD, q(1), ierr)
    call MPI_Send_init(a, n, MPI_INTEGER, up, 9, MPI_COMM_WORLD, q(2), ierr)
    do left = 1, 3
      a(1) = left
      call MPI_Startall(2, q, ierr)
      call MPI_Waitall(2, q, MPI_STATUSES_IGNORE, ierr)
      call tell('persistent')
    end do
    call MPI_Request_free(q(1), ierr)
    call MPI_Request_free(q(2), ierr)
  end subroutine

  subroutine begin(tag, q)
    integer, intent(in) :: tag
    HANDLE(MPI_Request), intent(out) :: q(2)
    call fresh()
    call MPI_Irecv(b, n, MPI_INTEGER, modulo(rank - 1, ranks), tag, MPI_COMM_WORLD, q(1), ierr)
    call MPI_Isend(a, n, MPI_INTEGER, modulo(rank + 1, ranks), tag, MPI_COMM_WORLD, q(2), ierr)
  end subroutine

  ! Types of absolute addresses, in a broadcast and in messages.
  subroutine at_the_bottom()
    HANDLE(MPI_Datatype) :: of_a, of_b
    integer(MPI_ADDRESS_KIND) :: at(2)
    call fresh()
    call MPI_Get_address(a(3), at(1), ierr)
    call MPI_Get_address(a(20), at(2), ierr)
    call MPI_Type_create_hindexed(2, [4, 5], at, MPI_INTEGER, of_a, ierr)
    call MPI_Get_address(b(7), at(1), ierr)
    call MPI_Get_address(b(2), at(2), ierr)
    call MPI_Type_create_hindexed(2, [5, 4], at, MPI_INTEGER, of_b, ierr)
    call MPI_Type_commit(of_a, ierr)
    call MPI_Type_commit(of_b, ierr)
    call MPI_Bcast(MPI_BOTTOM, 1, of_a, ranks - 1, MPI_COMM_WORLD, ierr)
    call tell('bottom, bcast')
    call MPI_Sendrecv(MPI_BOTTOM, 1, of_a, modulo(rank + 1, ranks), 1, MPI_BOTTOM, 1, of_b, modulo(rank - 1, ranks), 1, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call tell('bottom, sendrecv')
    call MPI_Type_free(of_a, ierr)
    call MPI_Type_free(of_b, ierr)
  end subroutine

  subroutine communicators()
    HANDLE(MPI_Comm) :: half, copy, parent
    HANDLE(MPI_Group) :: all
    call fresh()
    call MPI_Comm_split(MPI_COMM_WORLD, modulo(rank, 2), -rank, half, ierr)
    call MPI_Comm_dup(half, copy, ierr)
    call MPI_Comm_rank(copy, b(1), ierr)
    call MPI_Allreduce(rank, b(2), 1, MPI_INTEGER, MPI_SUM, copy, ierr)
    call MPI_Comm_group(MPI_COMM_WORLD, all, ierr)
    call MPI_Group_size(all, b(3), ierr)
    call MPI_Comm_get_parent(parent, ierr)
    b(4) = merge(1, 0, parent == MPI_COMM_NULL)
    call tell('communicators')
    call MPI_Group_free(all, ierr)
    call MPI_Comm_free(copy, ierr)
    call MPI_Comm_free(half, ierr)
  end subroutine
end module layered

program main
  use layered
  use saikai
  use, intrinsic :: iso_c_binding
#if defined WITH_MPI_F08
  use mpi_f08
#elif defined WITH_MPI
  use mpi
#endif
  implicit none
#ifdef WITH_MPIF_H
  include 'mpif.h'
#endif
  character(4096) :: file
  integer :: length
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  call get_environment_variable('LAYERED_OUTPUT', file, length)
  if (rank == 0 .and. length > 0) open (newunit=out, file=file(:length))
  call saikai_in_place(body, c_loc(a))
  if (rank == 0) write (out, '(a,i0,a)') 'layered (Fortran): ', calls, ' calls: verified'
  call MPI_Finalize(ierr)
end program main
