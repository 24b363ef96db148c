package render

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// concurrently calls use for the numbers from 0 to n-1, as many at a time as there are processors.
// It fails with the errors of all, as joinErrors joins them.
func concurrently(n int, use func(i int) error) error {
	errs := make([]error, n)
	var begun atomic.Int64
	var group sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		group.Go(func() {
			for i := int(begun.Add(1)); i <= n; i = int(begun.Add(1)) {
				errs[i-1] = use(i - 1)
			}
		})
	}
	group.Wait()
	return joinErrors(errs)
}
