! One fully connected layer, in Fortran: every rank has two samples, everybody gets the mean gradient of all.
program minimal
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit
  use dsop
  implicit none

  integer(c_size_t), parameter :: n = 300, m = 200, k = 2  ! inputs, outputs, samples a rank
  real(c_float), target :: a(n, k), b(m, k)                ! a sample a column
  real(c_float), target :: gradient(m, n)                  ! sum over ranks of b a^T
  integer(dsop_handle) :: all, layer
  integer(c_int) :: rank, size
  type(dsop_factor) :: inputs, errors
  type(dsop_matrix) :: sum
  type(c_ptr) :: algorithm
  character(40) :: number
  character(:), allocatable :: options

  call check(dsop_init())  ! starts MPI under mpirun, and nothing without it
  call check(dsop_communicator_world(all))
  call check(dsop_communicator_rank(all, rank, size))

  a = 1                          ! what went into the layer
  b = real(rank, c_float)        ! the error that came back
  inputs = dsop_factor(values=c_loc(a), rows=k, columns=n)
  errors = dsop_factor(values=c_loc(b), rows=k, columns=m)
  sum = dsop_matrix(values=c_loc(gradient), rows=n, columns=m)
  write (number, "(es24.17)") 1.0d0 / real(int(k) * size, c_double)
  options = "scale=" // trim(adjustl(number)) // c_null_char

  ! One call that picks the algorithm ...
  call check(dsop_sum_outer_products(all, dsop_f32, inputs, errors, sum, options))

  ! ... or a layer that plans once and keeps its buffers.
  call check(dsop_outer_product_create(all, dsop_f32, n, m, k, options, layer))
  call check(dsop_outer_product_run(layer, inputs, errors, sum))

  call check(dsop_outer_product_plan(layer, algorithm=algorithm))
  if (rank == 0) print "(a, f0.2)", dsop_text(algorithm) // ": every element is ", gradient(1, 1)
  call check(dsop_outer_product_free(layer))
  call check(dsop_communicator_free(all))
  call check(dsop_finalize())

contains

  subroutine check(status)
    integer(c_int), intent(in) :: status
    if (status == dsop_success) return
    write (error_unit, "(a)") "error: " // dsop_error_text()
    call dsop_abort(1_c_int)
  end subroutine
end program
