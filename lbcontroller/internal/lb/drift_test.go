package lb_test

import ()

// setListeners changes the status of all listeners, and their scheduler to rr, in the cloud by hand.
func (w *world) setListeners(status string) {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	for _, l := range w.cloud.Listeners {
		l.Status, l.Config.Scheduler = status, new("rr")
	}
}
