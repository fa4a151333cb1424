package gatewaytest

import "google.golang.org/protobuf/proto"

// Watcher sees the cloud between any two of its changes. All is called with the Fake locked; what it is given must not be changed.
type Watcher struct {
	// Calling is told of a write before it has an effect.
	Calling func(method string, request proto.Message)
	// Changed is told that the effect of a write, or of a part of it, or the end of a job may have changed the cloud.
	Changed func()
	// ByHand is told, before anything else can happen, that the test itself may have changed the cloud.
	ByHand func()
}

// Watch lets a watcher see the cloud from now on; nil ends it.
func (f *Fake) Watch(w *Watcher) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.watcher, f.byHand = w, true
}

// Lock keeps calls away while a test looks at the state or changes it.
func (f *Fake) Lock() { f.enter() }

// Unlock lets calls in again.
func (f *Fake) Unlock() {
	f.byHand = true
	f.mu.Unlock()
}

// enter locks the Fake for a step of a call.
func (f *Fake) enter() {
	f.mu.Lock()
	if f.watcher != nil && f.byHand {
		f.watcher.ByHand()
	}
	f.byHand = false
	f.settle()
	if f.NLB.settle() && f.watcher != nil {
		f.watcher.Changed()
	}
}

// leave ends a step of a call.
func (f *Fake) leave() {
	if f.watcher != nil && f.writing > 0 {
		f.watcher.Changed()
	}
	f.mu.Unlock()
}

// beginWrite tells the watcher of a write, if the method is one, and counts it until the end.
func (f *Fake) beginWrite(method string, request proto.Message) (end func()) {
	if methods()[method].Reads() {
		return func() {}
	}
	f.enter()
	defer f.mu.Unlock()
	f.writing++
	if f.watcher != nil {
		f.watcher.Calling(method, request)
	}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.writing--
	}
}
