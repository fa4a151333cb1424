package lb_test

// setListeners changes the status of all listeners, and their scheduler to rr, in the cloud by hand.
func (w *world) setListeners(status string) {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	for _, l := range clbListeners(w.cloud.Cloud) {
		l.Status, l.Attributes["Scheduler"] = status, "rr"
	}
}
