package judges

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// newClientset returns a fake API server that has the objects, and informers that ask it.
//
// Some programs turn the feature gate WatchListClient on for the whole process. Informers then wait
// for a bookmark, which the fake server of client-go 0.34 never sends. So it refuses to begin a
// watch with a list, as a server without that feature does; informers list and watch instead.
func newClientset(
	t *testing.T, objects ...runtime.Object,
) (*fake.Clientset, informers.SharedInformerFactory) {
	t.Helper()
	client := fake.NewClientset(objects...)
	client.PrependWatchReactor("*",
		func(action clienttesting.Action) (bool, watch.Interface, error) {
			request, ok := action.(clienttesting.WatchActionImpl)
			if ok && request.ListOptions.SendInitialEvents != nil {
				return true, nil, errors.New("this server does not begin a watch with a list")
			}
			return false, nil, nil
		})
	return client, informers.NewSharedInformerFactory(client, 0)
}
