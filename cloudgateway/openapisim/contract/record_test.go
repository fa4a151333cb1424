package contract

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// deed is a call of a scenario and its answer, without what differs from run to run.
type deed struct {
	Product string            `json:"product"`
	Action  string            `json:"action"`
	Params  map[string]string `json:"params,omitempty"`
	Code    string            `json:"code,omitempty"`
	Status  int               `json:"status,omitempty"` // of a refusal
	Answer  any               `json:"answer,omitempty"`
}

func (d deed) key() string { return fmt.Sprint(d.Product, " ", d.Action, " ", d.Params) } // a map is printed in order

// recorder keeps what scenarios do. A call that is made again and again until something holds is kept once, with its last answer.
type recorder struct {
	mu    sync.Mutex
	deeds map[string][]deed // by scenario
	masks map[string]*mask
	fixed map[string]string // what is the same in all scenarios: value -> name
}

func newRecorder(cfg config) *recorder {
	fixed := map[string]string{cfg.region: "REGION", cfg.vpcID: "VPC", cfg.vswitchID: "VSWITCH", cfg.otherVSwitchID: "OTHER-VSWITCH"}
	for i, id := range cfg.instances {
		fixed[id] = fmt.Sprint("INSTANCE-", i+1)
	}
	for i, zone := range cfg.zones {
		fixed[zone] = fmt.Sprint("ZONE-", i+1)
	}
	delete(fixed, "")
	return &recorder{deeds: map[string][]deed{}, masks: map[string]*mask{}, fixed: fixed}
}

func (r *recorder) add(scenario string, d deed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.masks[scenario]
	if m == nil {
		m = &mask{names: maps.Clone(r.fixed), used: map[string]int{}}
		r.masks[scenario] = m
	}
	d.Params = m.params(d.Params)
	d.Answer = m.value(d.Action, "", d.Answer)
	all := append(r.deeds[scenario], d)
	for period := 1; period <= 2; period++ { // a loop of one call, and one of two
		n := len(all)
		if n >= 2*period && slices.EqualFunc(all[n-period:], all[n-2*period:n-period], func(a, b deed) bool { return a.key() == b.key() }) {
			all = append(all[:n-2*period], all[n-period:]...)
		}
	}
	r.deeds[scenario] = all
}

// mask replaces what differs from run to run by where it was first seen, so that the same thing has the same name in two records: ids,
// addresses and names. Keys, times and numbers of requests are nothing but that. What a scenario sends itself stays.
type mask struct {
	names map[string]string
	used  map[string]int
	sent  strings.Builder
}

var (
	ownName = regexp.MustCompile(`contract-[0-9a-z]{6,}`)
	varying = regexp.MustCompile(`\b(?:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}` + // job or request
		`|\d{12,}_[0-9a-z_-]+` + // certificate
		`|iZ[0-9a-z]+Z` + // host
		`|[a-z]{1,8}(?:[46][a-z]{0,2})?-[0-9a-z]*[0-9][0-9a-z]*(?:@\d+)?` + // resource
		`|REGION-[a-z]\b` + // zone
		`|(?:\d{1,3}\.){3}\d{1,3}|(?:[0-9a-f]{0,4}:){3,7}[0-9a-f]{0,4}|(?:[0-9a-f]{2}:){5}[0-9a-f]{2})`) // addresses
	clock   = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:Z|\+08:00)?`)
	account = regexp.MustCompile(`\b\d{16}\b`)
	secret  = regexp.MustCompile(
		`(?i)^(accesskey(id|secret)|securitytoken|.*password|privatekey.*|` +
			`.*fingerprint|requestid|hostid|nexttoken|orderid|.*signature.*|tokenid|keyword)$`)
	stamps = regexp.MustCompile(`(?i)(timestamp|time|seqno)$`)
)

func (m *mask) params(given map[string]string) map[string]string {
	out := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		value := given[name]
		if secret.MatchString(name) || strings.HasPrefix(value, "-----BEGIN") {
			out[name] = "SECRET"
			continue
		}
		for _, own := range ownName.FindAllString(value, -1) {
			m.name(own, "name")
		}
		out[name] = m.known(value)
		m.sent.WriteString(value + "\n")
	}
	return out
}

// known replaces what has a name already, the longest first.
func (m *mask) known(text string) string {
	for _, value := range slices.SortedFunc(maps.Keys(m.names), func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) }) {
		for from := 0; ; {
			i := strings.Index(text[from:], value) + from
			if i < from {
				break
			}
			end := i + len(value)
			if from = end; i > 0 && within(text[i-1], value[0]) || end < len(text) && within(text[end], value[len(value)-1]) {
				continue // a part of something else
			}
			text = text[:i] + m.names[value] + text[end:]
			from = i + len(m.names[value])
		}
	}
	return text
}

// within reports whether a letter or digit goes on with a value at its end, which is one, too, or a colon as at the end of a block of IPv6.
func within(more, end byte) bool {
	word := func(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' }
	return word(more) && (word(end) || end == ':')
}

func (m *mask) name(value, place string) string {
	if m.names[value] == "" {
		if m.used[place]++; m.used[place] > 1 {
			place += fmt.Sprint("#", m.used[place])
		}
		m.names[value] = "<" + place + ">"
	}
	return m.names[value]
}

func (m *mask) value(action, member string, value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			out[name] = m.value(action, name, v[name])
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for _, item := range inOrder(v) {
			out = append(out, m.value(action, member, item))
		}
		return out
	case json.Number:
		if stamps.MatchString(member) && len(v) > 9 || secret.MatchString(member) || account.MatchString(v.String()) {
			return json.Number("1")
		}
		return v
	case string:
		if secret.MatchString(member) || strings.HasPrefix(v, "-----BEGIN") {
			return "SECRET"
		}
		text := clock.ReplaceAllString(v, "TIME")
		text = account.ReplaceAllString(m.known(text), "ACCOUNT")
		return varying.ReplaceAllStringFunc(text, func(found string) string {
			if strings.Contains(m.sent.String(), found) {
				return found
			}
			return m.name(found, action+"."+member)
		})
	}
	return value
}

// inOrder sorts the objects of a list by what is in them but for what varies: the cloud's order is no promise.
func inOrder(items []any) []any {
	bare := func(item any) string {
		text, _ := json.Marshal(item) // it was JSON
		return varying.ReplaceAllString(clock.ReplaceAllString(ownName.ReplaceAllString(string(text), ""), ""), "")
	}
	if len(items) == 0 {
		return items
	}
	if _, object := items[0].(map[string]any); !object {
		return items
	}
	return slices.SortedStableFunc(slices.Values(items), func(a, b any) int { return cmp.Compare(bare(a), bare(b)) })
}

// about says where a record comes from.
type about struct {
	Region  string `json:"region"`
	Date    string `json:"date"`
	Minutes int    `json:"minutes"`
	Cost    string `json:"cost"` // estimated
}

// save writes a record, one file for each scenario.
func (r *recorder) save(dir string, of about) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return fmt.Errorf("write the record: %w", err)
	}
	files := map[string]any{"about": of}
	for scenario, deeds := range r.deeds {
		files[scenario] = deeds
	}
	for name, content := range files {
		text, err := json.MarshalIndent(content, "", " ")
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name+".json"), append(text, '\n'), 0o600)
		}
		if err != nil {
			return fmt.Errorf("write the record: %w", err)
		}
	}
	return nil
}

// readRecord returns the record of a directory by scenario, or nothing if there is none.
func readRecord(t *testing.T, dir string) map[string][]deed {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]deed{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		if name == "about" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		decoder := json.NewDecoder(strings.NewReader(string(text)))
		decoder.UseNumber()
		var deeds []deed
		if err := decoder.Decode(&deeds); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		out[name] = deeds
	}
	return out
}

// differences compares what scenarios got from the simulator with the record, call by call and field by field. Each difference is told once
// for a field of an action, with the first scenario that shows it.
func differences(record, simulated map[string][]deed) []string {
	var out []string
	seen := map[string]bool{}
	for _, scenario := range slices.Sorted(maps.Keys(record)) {
		rest := simulated[scenario]
		for _, was := range record[scenario] {
			at := slices.IndexFunc(rest, func(d deed) bool { return d.key() == was.key() })
			tell := func(path, what string) {
				place := strings.TrimSuffix(was.Product+" "+was.Action+" "+path, " ")
				if !seen[place+what] {
					seen[place+what] = true
					out = append(out, place+": "+what+" ("+scenario+")")
				}
			}
			if at < 0 {
				tell("", "the same call is not made")
				continue
			}
			is := rest[at]
			rest = rest[at+1:]
			if was.Code != is.Code || was.Status != is.Status {
				tell("", fmt.Sprintf("%d %q in the cloud, %d %q here", was.Status, was.Code, is.Status, is.Code))
				continue
			}
			compare("", was.Answer, is.Answer, tell)
		}
	}
	return out
}

func compare(path string, was, is any, tell func(path, what string)) {
	if reflect.TypeOf(was) != reflect.TypeOf(is) {
		tell(path, fmt.Sprintf("%s in the cloud, %s here", typeName(was), typeName(is)))
		return
	}
	switch w := was.(type) {
	case map[string]any:
		i, _ := is.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(w)) {
			at := strings.TrimPrefix(path+"."+name, ".")
			if value, ok := i[name]; ok {
				compare(at, w[name], value, tell)
			} else {
				tell(at, "not here")
			}
		}
		for _, name := range slices.Sorted(maps.Keys(i)) {
			if _, ok := w[name]; !ok {
				tell(strings.TrimPrefix(path+"."+name, "."), "only here")
			}
		}
	case []any:
		i, _ := is.([]any)
		if len(w) != len(i) {
			tell(path, fmt.Sprintf("%d items in the cloud, %d here", len(w), len(i)))
		}
		for n := range min(len(w), len(i)) {
			compare(path+"[]", w[n], i[n], tell)
		}
	default:
		if was != is {
			tell(path, fmt.Sprintf("%v in the cloud, %v here", was, is))
		}
	}
}

func typeName(value any) string {
	switch value.(type) {
	case nil:
		return "nothing"
	case string:
		return "a text"
	case json.Number:
		return "a number"
	case bool:
		return "a boolean"
	case []any:
		return "a list"
	}
	return "an object"
}

// known returns the differences that testdata/known.txt doesn't name, and what it names in vain. Each line there is the beginning of a
// difference; behind # stands why it is one.
func known(t *testing.T, found []string) (unknown, idle []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "known.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	starts := func(line string) func(string) bool {
		return func(difference string) bool { return strings.HasPrefix(difference, line) }
	}
	for _, line := range lines {
		if !slices.ContainsFunc(found, starts(line)) {
			idle = append(idle, line)
		}
	}
	unknown = slices.DeleteFunc(slices.Clone(found), func(d string) bool {
		return slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(d, line) })
	})
	return unknown, idle
}
