package render

import (
	"runtime"
	"sync"
)

// concurrently calls use for the numbers from 0 to n-1, as many at a time as there are processors.
// It fails with the errors of all, as joinErrors joins them.
func concurrently(n int, use func(i int) error) error {
	errs := make([]error, n)
	next := make(chan int)
	var group sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		group.Go(func() {
			for i := range next {
				errs[i] = use(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	group.Wait()
	return joinErrors(errs)
}
