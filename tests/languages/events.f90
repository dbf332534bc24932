! Rank 1 tells events, rank 0 hears those that its filters let through, in order. usage: events
program events
  use, intrinsic :: iso_c_binding
  use saikai
  use saikai_events
  use mpi
  implicit none
  type(saikai_event) :: e
  integer :: rank, ierr
  character(8) :: none(0)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call expect(saikai_event_publish('early', SAIKAI_EVENT_INFO) == SAIKAI_ESTATE, 'before saikai_init')
  call expect(saikai_init(MPI_COMM_WORLD, 'lib.on_error=return') == 0, 'saikai_init')
  call expect(saikai_event_next('severity>=loud', 0.0_c_double, e) == SAIKAI_EINVAL, 'a filter that is none')
  call expect(saikai_event_publish('Not A Name', SAIKAI_EVENT_INFO) == SAIKAI_EINVAL, 'a name that is none')
  call expect(saikai_event_publish('x', SAIKAI_EVENT_INFO, ['no equals sign']) == SAIKAI_EINVAL, 'a field that is none')
  ! subscribed before anything is told
  call expect(saikai_event_next('space=app', 0.0_c_double, e) == 0, 'nothing so far')
  call expect(saikai_event_next(saikai_default(), 'severity>=error', 0.0_c_double, e) == 0, 'nothing bad so far')
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  if (rank == 1) then
    call expect(saikai_event_publish('step', SAIKAI_EVENT_WARNING, &
                                     [character(16) :: 'residual=1e-9', 'of=two words']) == 0, 'with fields')
    call expect(saikai_event_publish(saikai_default(), 'app.bad  ', SAIKAI_EVENT_ERROR, none) == 0, 'without, by a handle')
  else
    call expect(saikai_event_next('space=app', 120.0_c_double, e) == 1, 'the first')
    call expect(e%space == 'app' .and. e%name == 'step' .and. e%severity == SAIKAI_EVENT_WARNING .and. e%rank == 1, 'what it is')
    call expect(size(e%field) == 2 .and. saikai_event_value(e, 'residual') == '1e-9', 'its fields')
    call expect(saikai_event_value(e, 'of') == 'two words' .and. saikai_event_value(e, 'other') == '', 'its text')
    call expect(len(e%host) > 0 .and. len(e%job) > 0 .and. e%time_ms > 0 .and. e%deadline_ms == 0, 'where and when')
    call expect(saikai_event_next(saikai_default(), 'severity>=error', 120.0_c_double, e) == 1, 'the bad one')
    call expect(e%name == 'bad' .and. size(e%field) == 0, 'what it is')
    call expect(saikai_event_next('space=app', 120.0_c_double, e) == 1 .and. e%name == 'bad', 'the second of all')
    call expect(saikai_event_next('space=app', 0.0_c_double, e) == 0 .and. e%name == 'bad', 'no more; the event stays')
  end if
  call expect(saikai_finalize() == 0, 'saikai_finalize')
  if (rank == 0) print '(a)', 'fine'
  call MPI_Finalize(ierr)

contains

  subroutine expect(good, what)
    logical, intent(in) :: good
    character(*), intent(in) :: what
    if (good) return
    print '(a, i0, 4a)', 'rank ', rank, ': ', what, ': ', saikai_error()
    call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  end subroutine
end program
