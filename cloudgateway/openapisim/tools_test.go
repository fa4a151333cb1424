package openapisim_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/reference"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// TestTools makes the calls of each tool of docs/tools.md in the order in which the tool makes them, as it sends them, to a strict
// cloud in which changes take their time. The orders are in testdata/tools. Every action of the tool that is simulated must have
// succeeded, so that what the page calls there is known to work in such an order, and nothing may be left in the end.
func TestTools(t *testing.T) {
	t.Parallel()
	for _, tool := range []struct {
		name, file string
		send       style
	}{
		// The provider's client is tea-rpc: signature version 1, all in the form. Terway and the CSI driver have version 1 of the SDK, which
		// puts all into the query, and Karpenter has version 2, with signature version 3.
		{"Terraform", "terraform.txt", inForm},
		{"Terway", "terway.txt", inQuery},
		{"CSI driver", "csi.txt", inQuery},
		{"Karpenter (Alibaba Cloud)", "karpenter.txt", version3},
		{"Karpenter (CloudPilot)", "karpenter-cloudpilot.txt", version3},
	} {
		t.Run(tool.name, func(t *testing.T) {
			t.Parallel()
			settings := api.DefaultSettings()
			settings.SubscriptionsNotSold = false // Terraform changes how a load balancer is paid for.
			world := seed()
			world.LoadBalancers = map[string]*state.LoadBalancer{
				"lb-old": {AddressType: "internet", Spec: "slb.s1.small"}, "lb-by-use": {AddressType: "internet", Spec: "slb.s1.small"},
			}
			world.Clusters = map[string]*state.Cluster{"c-1": {VpcID: "vpc-1", APIServer: "10.0.0.100:6443"}}
			sim := newCloud(t, openapisim.Config{Settings: &settings, LimitsOff: true, Seed: world})
			before := snapshotOf(t, sim)
			s := &script{t: t, sim: sim, send: tool.send, client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
				values: map[string]string{}, versions: versions()}
			s.pem, s.key = selfSigned(t)
			s.run(filepath.Join("testdata", "tools", tool.file))
			s.complete(tool.name)
			if left := leftOver(t, before, snapshotOf(t, sim)); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// style is how a client sends and signs a call.
type style func(s *script, product, action string, params map[string]string) *http.Request

// script is an order of calls: a line has the product, the action and the parameters; behind "?" what the answer must have, and
// behind ">" what of it later lines name by $. "wait" repeats a line, while the clock moves, until it succeeds and has that, and
// "refused CODE" wants a refusal.
type script struct {
	t        *testing.T
	sim      *openapisim.Simulator
	send     style
	client   *http.Client
	values   map[string]string
	versions map[string]string
	pem, key string // stand for @pem and @key, which have spaces
}

var variable = regexp.MustCompile(`\$\w+`)

func (s *script) run(file string) {
	s.t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	for n, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if problem := s.line(line); problem != "" {
			s.t.Fatalf("%s:%d: %s\n%s", file, n+1, line, problem)
		}
	}
}

// line makes the call of a line and says what is wrong with the answer.
func (s *script) line(line string) (problem string) {
	words := strings.Fields(variable.ReplaceAllStringFunc(line, func(name string) string { return s.values[name[1:]] }))
	wait, want := words[0] == "wait", ""
	if wait {
		words = words[1:]
	}
	if words[0] == "refused" {
		want, words = words[1], words[2:]
	}
	params, checks, names := map[string]string{"RegionId": "cn-hangzhou"}, [][2]string{}, [][2]string{}
	part := ""
	for _, word := range words[2:] {
		name, value, _ := strings.Cut(word, "=")
		switch {
		case word == "?" || word == ">":
			part = word
		case part == "?":
			checks = append(checks, [2]string{name, value})
		case part == ">":
			names = append(names, [2]string{name, value})
		default:
			params[name] = strings.NewReplacer("@pem", s.pem, "@key", s.key).Replace(value)
		}
	}
	for range 40 {
		if problem = s.try(words[0], words[1], want, params, checks, names); problem == "" || !wait {
			return problem
		}
		s.sim.Advance(3 * time.Second)
	}
	return problem
}

func (s *script) try(product, action, want string, params map[string]string, checks, names [][2]string) string {
	request := s.send(s, product, action, params)
	response, err := s.client.Do(request)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err.Error()
	}
	var answer map[string]any
	numbers := json.NewDecoder(bytes.NewReader(body))
	numbers.UseNumber() // Ids of certificates are numbers.
	if body[0] != '{' { // Some answers in ROA style are a list or plain text.
		numbers = json.NewDecoder(strings.NewReader(`{"":` + whole(string(body)) + "}"))
	}
	if err := numbers.Decode(&answer); err != nil {
		return fmt.Sprintf("%v: %s", err, body)
	}
	code, _ := answer["Code"].(string)
	if roaCode, ok := answer["code"].(string); ok {
		code = roaCode
	}
	if response.StatusCode != http.StatusOK || want != "" {
		if code != want {
			return fmt.Sprintf("status %d: %s", response.StatusCode, body)
		}
		return ""
	}
	for _, check := range checks {
		if got := textAt(answer, check[0]); got != check[1] {
			return fmt.Sprintf("%s is %q, not %q: %s", check[0], got, check[1], body)
		}
	}
	for _, name := range names {
		if s.values[name[0]] = textAt(answer, name[1]); s.values[name[0]] == "" {
			return fmt.Sprintf("no %s: %s", name[1], body)
		}
	}
	return ""
}

// whole is a list as it is, and other text as JSON.
func whole(body string) string {
	if body[0] == '[' {
		return body
	}
	return strconv.Quote(body)
}

// textAt is a value by its path, for example "Vpcs.Vpc.0.VpcId", as text; "" stands for nothing.
func textAt(at any, path string) string {
	for step := range strings.SplitSeq(path, ".") {
		switch node := at.(type) {
		case map[string]any:
			at = node[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(node) {
				return ""
			}
			at = node[i]
		default:
			return ""
		}
	}
	if at == nil {
		return ""
	}
	return fmt.Sprint(at)
}

// complete reports the actions of a tool that are simulated and that no line had succeed.
func (s *script) complete(name string) {
	s.t.Helper()
	succeeded := map[string]bool{}
	for _, call := range s.sim.Calls(0) {
		if call.Code == "" {
			succeeded[call.Product+" "+call.Action] = true
		}
	}
	tools := reference.Tools()
	at := slices.IndexFunc(tools, func(tool reference.Tool) bool { return tool.Name == name })
	if at < 0 {
		s.t.Fatalf("no tool %s", name)
	}
	for _, part := range tools[at].Parts {
		there, _ := part.Simulated()
		for _, action := range there {
			if !succeeded[part.Product+" "+action] {
				s.t.Errorf("%s: no line has %s %s succeed", part.Name, part.Product, action)
			}
		}
	}
}

// leftOver says of which kinds there is more than before.
func leftOver(t *testing.T, before, after string) []string {
	t.Helper()
	var was, is map[string]any
	if err := errors.Join(json.Unmarshal([]byte(before), &was), json.Unmarshal([]byte(after), &is)); err != nil {
		t.Fatal(err)
	}
	var left []string
	for kind, all := range is {
		old, _ := was[kind].(map[string]any)
		now, isMap := all.(map[string]any)
		if !isMap || slices.Contains([]string{"tokens", "nlbJobs", "tasks"}, kind) {
			continue
		}
		for id := range now {
			if _, there := old[id]; !there {
				left = append(left, kind+" "+id)
			}
		}
	}
	slices.Sort(left)
	return left
}

// systemV1 are the parameters of a call that is signed by version 1.
func (s *script) systemV1(product, action string, params map[string]string) url.Values {
	values := url.Values{
		"Action": {action}, "Version": {s.versions[product]}, "Format": {"JSON"}, "AccessKeyId": {openapisim.DefaultAccessKeyID},
		"SignatureMethod": {"HMAC-SHA1"}, "SignatureVersion": {"1.0"}, "SignatureNonce": {rand.Text()},
		"Timestamp": {time.Now().UTC().Format("2006-01-02T15:04:05Z")},
	}
	for name, value := range params {
		values.Set(name, value)
	}
	canonical := strings.ReplaceAll(values.Encode(), "+", "%20")
	mac := hmac.New(sha1.New, []byte(openapisim.DefaultAccessKeySecret+"&"))
	mac.Write([]byte("POST&%2F&" + strings.ReplaceAll(url.QueryEscape(canonical), "+", "%20")))
	values.Set("Signature", base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return values
}

func (s *script) post(product, query, body string) *http.Request {
	return s.request(http.MethodPost, product, "/", query, body)
}

func (s *script) request(method, product, path, query, body string) *http.Request {
	address := "http://" + s.sim.Endpoint(product) + path
	if query != "" {
		address += "?" + query
	}
	request, err := http.NewRequestWithContext(s.t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return request
}

func inForm(s *script, product, action string, params map[string]string) *http.Request {
	return s.post(product, "", s.systemV1(product, action, params).Encode())
}

func inQuery(s *script, product, action string, params map[string]string) *http.Request {
	return s.post(product, s.systemV1(product, action, params).Encode(), "")
}

func version3(s *script, product, action string, params map[string]string) *http.Request {
	method, path := roa(product, action, params)
	if path == "" {
		method, path = http.MethodPost, "/"
	}
	query := url.Values{}
	for name, value := range params {
		query.Set(name, value)
	}
	text := strings.ReplaceAll(query.Encode(), "+", "%20")
	request := s.request(method, product, path, text, "")
	empty := sha256.Sum256(nil)
	headers := map[string]string{
		"host": request.URL.Host, "x-acs-action": action, "x-acs-version": s.versions[product], "x-acs-signature-nonce": rand.Text(),
		"x-acs-date": time.Now().UTC().Format("2006-01-02T15:04:05Z"), "x-acs-content-sha256": hex.EncodeToString(empty[:]),
	}
	canonical, names := method+"\n"+path+"\n"+text+"\n", slices.Sorted(maps.Keys(headers))
	for _, name := range names {
		canonical += name + ":" + headers[name] + "\n"
		if name != "host" {
			request.Header.Set(name, headers[name])
		}
	}
	signed := strings.Join(names, ";")
	hash := sha256.Sum256([]byte(canonical + "\n" + signed + "\n" + headers["x-acs-content-sha256"]))
	mac := hmac.New(sha256.New, []byte(openapisim.DefaultAccessKeySecret))
	mac.Write([]byte("ACS3-HMAC-SHA256\n" + hex.EncodeToString(hash[:])))
	request.Header.Set("Authorization", "ACS3-HMAC-SHA256 Credential="+openapisim.DefaultAccessKeyID+",SignedHeaders="+signed+
		",Signature="+hex.EncodeToString(mac.Sum(nil)))
	return request
}
