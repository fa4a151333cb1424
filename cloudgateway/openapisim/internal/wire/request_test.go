package wire

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
)

func TestCheckSystem(t *testing.T) {
	t.Parallel()
	complete := "AccessKeyId=a&SignatureMethod=HMAC-SHA1&SignatureVersion=1.0&SignatureNonce=n&Timestamp=t&Signature=s"
	tests := []struct{ name, query, want string }{
		{"complete", complete, ""},
		{"no key", strings.Replace(complete, "AccessKeyId=a", "x=y", 1), "MissingParameter AccessKeyId"},
		{"no nonce", strings.Replace(complete, "SignatureNonce=n", "x=y", 1), "MissingParameter SignatureNonce"},
		{"no signature", strings.Replace(complete, "Signature=s", "x=y", 1), "MissingParameter Signature"},
		{"another method", strings.Replace(complete, "HMAC-SHA1", "MD5", 1), "InvalidParameter SignatureMethod"},
		{"another version", strings.Replace(complete, "1.0", "2.0", 1), "InvalidParameter SignatureVersion"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			checkError(t, parse(t, httptest.NewRequest(http.MethodGet, "/?Action=A&"+tt.query, nil)).CheckSystem(), tt.want)
		})
	}
}

// checkError compares an error with "Code what-its-message-names", or "" for none.
func checkError(t *testing.T, err *api.Error, want string) {
	t.Helper()
	code, named, _ := strings.Cut(want, " ")
	switch {
	case want == "":
		if err != nil {
			t.Errorf("got %v", err)
		}
	case err == nil:
		t.Errorf("no error, want %s", want)
	case err.Code != code || !strings.Contains(err.Message, named):
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestCheckTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	tests := []struct{ timestamp, want string }{
		{"2026-01-02T12:00:00Z", ""},
		{"2026-01-02T11:45:00Z", ""},
		{"2026-01-02T12:15:00Z", ""},
		{"2026-01-02T11:44:59Z", "InvalidTimeStamp.Expired"},
		{"2026-01-02T12:15:01Z", "InvalidTimeStamp.Expired"},
		{"2026-01-02 12:00:00", "InvalidTimeStamp.Format"},
		{"yesterday", "InvalidTimeStamp.Format"},
	}
	for _, tt := range tests {
		t.Run(tt.timestamp, func(t *testing.T) {
			t.Parallel()
			req := &Request{Timestamp: tt.timestamp}
			checkError(t, req.CheckTime(now, 15*time.Minute), tt.want)
		})
	}
}

func TestParseMergesQueryAndForm(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest(http.MethodPost, "/?Action=A&Format=xml&Both=query", strings.NewReader("Both=form&Name=a+b"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req := parse(t, r)
	want := map[string]string{"Action": "A", "Format": "xml", "Both": "form", "Name": "a b"}
	if diff := cmp.Diff(want, req.Values); diff != "" || !req.XML {
		t.Errorf("XML %v, values (-want +got):\n%s", req.XML, diff)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		request *http.Request
		want    string
	}{
		{"method", httptest.NewRequest(http.MethodDelete, "/?Action=A", nil), "UnsupportedHTTPMethod"},
		{"escape", httptest.NewRequest(http.MethodGet, "/?Action=%25zz&a;b", nil), "InvalidParameter parsed"},
		{"value that is no text", httptest.NewRequest(http.MethodGet, "/?Action=A&Name=%ff", nil), "InvalidParameter UTF-8"},
		{"name that is no text", httptest.NewRequest(http.MethodGet, "/?Action=A&%ff=x", nil), "InvalidParameter UTF-8"},
		{"size", httptest.NewRequest(http.MethodPost, "/", strings.NewReader(strings.Repeat("a", maxBody+1))), "InvalidParameter larger"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse(tt.request)
			checkError(t, err, tt.want)
		})
	}
}

func check(malformed string, table []api.Param, sent map[string]string, settings *api.Settings) *api.Error {
	params := api.NewParams(sent)
	return CheckParams(malformed, table, &params, settings)
}

// NLB has taken AddressType=internet and HealthCheckType=tcp since 2022: the existing controllers send them so. Handlers, and so
// the answers, see the value of the documents; the journal keeps what was sent.
func TestEnumeratedValues(t *testing.T) {
	t.Parallel()
	table := []api.Param{
		{Name: "Mode", Enum: []string{"Internet", "Intranet"}},
		{Name: "Codes", Kind: api.Strings, Enum: []string{"http_2xx"}},
		{Name: "Servers", Kind: api.Structs, Members: []api.Param{{Name: "Type", Enum: []string{"Ecs"}, Required: true},
			{Name: "Port", Kind: api.Int, Min: 1, Max: 9}}},
	}
	sent := map[string]string{"mode": "INTERNET", "Codes.1": "HTTP_2xx", "Codes.4": "http_2xx", "Servers.2.Type": "ecs", "Servers.2.Port": "9"}
	original := maps.Clone(sent)
	params := api.NewParams(sent)
	if err := CheckParams("", table, &params, &api.Settings{}); err != nil {
		t.Fatal(err)
	}
	got := []any{params.Get("Mode"), params.List("Codes"), params.Items("Servers")}
	want := []any{"Internet", []string{"http_2xx", "http_2xx"}, []map[string]string{{"type": "Ecs", "port": "9"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(original, sent); diff != "" {
		t.Errorf("what was sent changed (-want +got):\n%s", diff)
	}
	strict := api.Settings{ExactCase: true}
	for _, tt := range []struct {
		sent map[string]string
		want string
	}{
		{map[string]string{"Mode": "internet"}, "Illegal Mode"},
		{map[string]string{"Codes.1": "HTTP_2XX"}, "Illegal Codes.1"},
		{map[string]string{"Servers.1.Type": "ecs"}, "Illegal Servers.1.Type"},
		{map[string]string{"Servers.1.Port": "1"}, "MissingParameter Servers.1.Type"},
		{map[string]string{"Servers.1.Type": "Ecs", "Servers.1.Port": "10"}, "Illegal Servers.1.Port"},
		{map[string]string{"Mode": "Internet", "Servers.1.Type": "Ecs"}, ""},
	} {
		checkError(t, check("Illegal", table, tt.sent, &strict), tt.want)
	}
}

func TestCheckParams(t *testing.T) {
	t.Parallel()
	settings := api.Settings{IDsPerCall: 3}
	table := []api.Param{
		{Name: "Id", Required: true},
		{Name: "Port", Kind: api.Int, Min: 1, Max: 65535},
		{Name: "Offset", Kind: api.Int},
		{Name: "On", Kind: api.Bool},
		{Name: "Mode", Enum: []string{"a", "b"}},
		{Name: "Servers", Kind: api.JSON},
		{Name: "Item", Kind: api.Strings, Max: 2, Enum: []string{"x", "y"}},
		{Name: "Tag", Kind: api.Structs, Max: 1},
		{Name: "Address", Kind: api.Strings, Limit: func(s *api.Settings) int { return s.IDsPerCall }},
	}
	tests := []struct {
		name   string
		params map[string]string
		want   string
	}{
		{"missing", map[string]string{}, "MissingParameter Id"},
		{"empty counts as missing", map[string]string{"Id": ""}, "MissingParameter Id"},
		{"least", map[string]string{"Id": "1"}, ""},
		{"name in another case", map[string]string{"id": "1"}, ""},
		{"unknown is ignored", map[string]string{"Id": "1", "Other": "x"}, ""},
		{"number", map[string]string{"Id": "1", "Port": "http"}, "InvalidParameter Port"},
		{"too small", map[string]string{"Id": "1", "Port": "0"}, "InvalidParameter Port"},
		{"too large", map[string]string{"Id": "1", "Port": "65536"}, "InvalidParameter Port"},
		{"any number", map[string]string{"Id": "1", "Offset": "-520"}, ""},
		{"huge number", map[string]string{"Id": "1", "Offset": "99999999999999999999"}, "InvalidParameter Offset"},
		{"bool", map[string]string{"Id": "1", "On": "yes"}, "InvalidParameter On"},
		{"bool in capitals", map[string]string{"Id": "1", "On": "True"}, ""},
		{"enum", map[string]string{"Id": "1", "Mode": "c"}, "InvalidParameter Mode"},
		{"JSON is for the handler to read", map[string]string{"Id": "1", "Servers": `[{`}, ""},
		{"strings", map[string]string{"Id": "1", "Item.1": "x", "Item.5": "y"}, ""},
		{"too many strings", map[string]string{"Id": "1", "Item.1": "x", "Item.2": "y", "Item.3": "x"}, "InvalidParameter Item"},
		{"as many as the setting says", map[string]string{"Id": "1", "Address.1": "x", "Address.2": "y", "Address.3": "z"}, ""},
		{"more than the setting says", map[string]string{"Id": "1", "Address.1": "x", "Address.2": "y", "Address.3": "z",
			"Address.4": "a"}, "InvalidParameter Address"},
		{"string not allowed", map[string]string{"Id": "1", "Item.1": "z"}, "InvalidParameter Item"},
		{"too many structs", map[string]string{"Id": "1", "Tag.1.Key": "x", "Tag.2.Key": "y"}, "InvalidParameter Tag"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			checkError(t, check("", table, tt.params, &settings), tt.want)
		})
	}
	for _, kind := range []api.Kind{api.Strings, api.Structs} {
		required := []api.Param{{Name: "List", Kind: kind, Required: true}}
		checkError(t, check("", required, nil, &settings), "MissingParameter List.1")
	}
	own := []api.Param{{Name: "Id", Required: true, Missing: api.NotFound("MissingParam.Id", "The parameter Id is required.")}}
	checkError(t, check("", own, nil, &settings), "MissingParam.Id Id")
}

type result struct {
	Name  string `json:"Name"`
	Items struct {
		Item []int `json:"Item"`
	} `json:"Items"`
	Flat []string `json:"Flat"`
	None *int     `json:"None"`
	Yes  bool     `json:"Yes"`
}

func TestSuccess(t *testing.T) {
	t.Parallel()
	full := result{Name: "a <b> & c", Flat: []string{"x"}, Yes: true}
	full.Items.Item = []int{1, 2}
	tests := []struct {
		name   string
		result any
		xml    bool
		want   string
	}{
		{"nothing", nil, false, `{"RequestId":"ID"}`},
		{"empty", struct{}{}, false, `{"RequestId":"ID"}`},
		{"nothing in XML", nil, true, xmlHeader + `<GetResponse><RequestId>ID</RequestId></GetResponse>`},
		{"full", full, false, `{"RequestId":"ID","Name":"a \u003cb\u003e \u0026 c","Items":{"Item":[1,2]},"Flat":["x"],"None":null,"Yes":true}`},
		{
			"full in XML", full, true, xmlHeader + `<GetResponse><RequestId>ID</RequestId><Name>a &lt;b&gt; &amp; c</Name>` +
				`<Items><Item>1</Item><Item>2</Item></Items><Flat>x</Flat><None></None><Yes>true</Yes></GetResponse>`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			answer, err := Success("Get", "ID", tt.result, tt.xml)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(answer.Body)); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
	if _, err := Success("Get", "ID", func() {}, false); err == nil {
		t.Error("encoded a function")
	}
}

// Clients insist that every member of an error is a string.
func TestFailure(t *testing.T) {
	t.Parallel()
	failure := api.NotFound("Invalid<Id>.NotFound", "There is no %q.", "lb-1")
	var got map[string]string
	answer := Failure(failure, "Slb", "ID", "127.0.0.1:1", false)
	if err := json.Unmarshal(answer.Body, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"RequestId": "ID", "HostId": "127.0.0.1:1", "Code": "Invalid<Id>.NotFound", "Message": `There is no "lb-1".`,
		"Recommend": "https://api.aliyun.com/troubleshoot?q=Invalid%3CId%3E.NotFound&product=Slb&requestId=ID",
	}
	if bytes.Contains(answer.Body, []byte(`\u0026`)) {
		t.Errorf("an address that is escaped: %s", answer.Body)
	}
	if diff := cmp.Diff(want, got); diff != "" || answer.Status != 404 {
		t.Errorf("status %d, body (-want +got):\n%s", answer.Status, diff)
	}
	var inXML struct {
		XMLName struct{} `xml:"Error"`
		Code    string
		Message string
	}
	if err := xml.Unmarshal(Failure(failure, "Slb", "ID", "h", true).Body, &inXML); err != nil || inXML.Code != failure.Code ||
		inXML.Message != failure.Message {
		t.Errorf("XML %+v, %v", inXML, err)
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	for asXML, contentType := range map[bool]string{false: "application/json;charset=utf-8", true: "text/xml;charset=utf-8"} {
		w := httptest.NewRecorder()
		Failure(api.BadRequest("C", "m"), "Slb", "ID", "h", asXML).Write(w, "ID")
		if w.Code != 400 || w.Header().Get("Content-Type") != contentType || w.Header().Get("x-acs-request-id") != "ID" {
			t.Errorf("status %d, headers %v", w.Code, w.Header())
		}
	}
}

func TestNewRequestID(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^[0-9A-F]{8}-[0-9A-F]{4}-4[0-9A-F]{3}-[89AB][0-9A-F]{3}-[0-9A-F]{12}$`)
	a, b := NewRequestID(), NewRequestID()
	if !form.MatchString(a) || a == b {
		t.Errorf("%s, %s", a, b)
	}
}
