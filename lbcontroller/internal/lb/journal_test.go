package lb_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/runtime"
	kubetesting "k8s.io/client-go/testing"

	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
)

// journal takes down what the controller asks of the cloud and writes to the API server for each Service: when, and with which content.
// Ids that the cloud gives out are replaced by names, so that two worlds can be compared.
type journal struct {
	w     *world
	start time.Time
	// owners are the names of Services by what shows that a call is for them: the name of their CLB, or the beginning of
	// their pods' addresses.
	owners map[string]string
	// fault decides about a call for a Service; nil lets all pass.
	fault func(service, method string, request proto.Message) gatewaytest.Fault

	mu    sync.Mutex
	names map[string]string // of CLBs and vServer groups by id
	lines map[string][]string
}

// keepJournal begins a journal. It sees all calls until the world ends.
func keepJournal(w *world) *journal {
	j := &journal{w: w, start: time.Now(), owners: map[string]string{}, names: map[string]string{}, lines: map[string][]string{}}
	w.cloud.Interpose(func(_ int, method string, request proto.Message) gatewaytest.Fault {
		service := j.call(method, request)
		if j.fault == nil {
			return gatewaytest.Fault{}
		}
		return j.fault(service, method, request)
	})
	w.kube.PrependReactor("patch", "services", func(action kubetesting.Action) (bool, runtime.Object, error) {
		patch, ok := action.(kubetesting.PatchAction)
		if ok && bytes.Contains(patch.GetPatch(), []byte(`"uid"`)) { // The controller's, not a user's.
			j.note(patch.GetName(), "patch "+patch.GetSubresource()+" "+j.named(string(patch.GetPatch())))
		}
		return false, nil, nil
	})
	return j
}

// given are the ids and addresses that the cloud gives out, and the ids of requests that are drawn at random.
var given = regexp.MustCompile(`\b(lb|rsp)-\d+\b|\b47\.\d+\.\d+\.\d+\b|"sg-[A-Z0-9]+"`)

// call takes down a call and returns whose it is, "" if that doesn't show.
func (j *journal) call(method string, request proto.Message) string {
	text := j.named(compact(request))
	service := ""
	for _, mark := range slices.Sorted(maps.Keys(j.owners)) {
		if strings.Contains(text, mark) {
			service = j.owners[mark]
		}
	}
	for _, name := range madeFor.FindAllStringSubmatch(text, -1) {
		service = name[1]
	}
	j.note(service, method+" "+text)
	return service
}

// madeFor finds the Service in the name of a vServer group or the description of a listener.
var madeFor = regexp.MustCompile(`k8s/\d+/([^/]+)/default/` + clusterID)

func (j *journal) note(service, line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines[service] = append(j.lines[service], fmt.Sprintf("%8.3fs %s", time.Since(j.start).Seconds(), line))
}

// named replaces ids by names.
func (j *journal) named(text string) string {
	j.w.cloud.Lock()
	current := map[string]string{}
	for id, lb := range j.w.cloud.LoadBalancers {
		current[id], current[lb.Address] = lb.Name, "address of "+lb.Name
	}
	for id, g := range j.w.cloud.ServerGroups {
		current[id] = g.Name
	}
	j.w.cloud.Unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	for id, name := range current { // What is gone keeps its name.
		if _, known := j.names[id]; !known {
			j.names[id] = name
		}
	}
	return given.ReplaceAllStringFunc(text, func(id string) string {
		if name, ok := j.names[id]; ok {
			return "<" + name + ">"
		}
		if strings.HasPrefix(id, `"`) {
			return `"sg"`
		}
		return id
	})
}

// compact is a message in one line that is the same each time, which that of the library isn't.
func compact(m proto.Message) string {
	var line bytes.Buffer
	if data, err := protojson.Marshal(m); err != nil || json.Compact(&line, data) != nil {
		return fmt.Sprint(m)
	}
	return line.String()
}

// of returns the lines about the given Services.
func (j *journal) of(services []string) map[string][]string {
	j.mu.Lock()
	defer j.mu.Unlock()
	lines := map[string][]string{}
	for _, name := range services {
		lines[name] = slices.Sorted(slices.Values(j.lines[name])) // Some reads go at the same time.
	}
	return lines
}

// owns sets how the journal recognizes the calls for a Service.
func (j *journal) owns(service, uid, podNetwork string) {
	j.owners[ownership.DefaultName(uid)] = service
	if podNetwork != "" {
		j.owners[podNetwork] = service
	}
}
