! Fortran: allocatable arrays and strings, whose memory comes from malloc.
! expect: site_arrays allocations=20 frees=20 bytes=64000
! expect: site_text allocations=1 frees=1 bytes=40
module work
contains
  subroutine site_arrays(n)
    integer, intent(in) :: n
    real(8), allocatable :: a(:), b(:,:)
    integer :: i
    do i = 1, n
      allocate(a(200), b(20, 30))
      a = i
      b = a(1)
      deallocate(a, b)
    end do
  end subroutine

  subroutine site_text()
    character(len=:), allocatable :: text
    allocate(character(len=40) :: text)
    text = repeat("x", 40)
    print *, text
  end subroutine
end module

program vectors
  use work
  call site_arrays(10)
  call site_text()
  print *, "done"
end program
