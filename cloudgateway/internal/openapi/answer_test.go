package openapi

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"alicloud-controllers.dev/cloudgateway/internal/openapi/catalogue"
)

func TestRequestID(t *testing.T) {
	header := http.Header{"X-Acs-Request-Id": {"H"}}
	for name, tt := range map[string]struct {
		answer answer
		want   string
	}{
		"in the header alone":  {answer{header: header, body: []byte(`{}`)}, "H"},
		"in both":              {answer{header: header, body: []byte(`{"RequestId":"B"}`)}, "H"},
		"in the answer alone":  {answer{body: []byte(`{"RequestId":"B"}`)}, "B"},
		"beside a number":      {answer{body: []byte(`{"Code":200,"RequestId":"B"}`)}, "B"},
		"in neither":           {answer{body: []byte(`<html>`)}, ""},
		"too long":             {answer{body: []byte(`{"RequestId":"` + strings.Repeat("B", 200) + `"}`)}, strings.Repeat("B", 128)},
		"too long in a header": {answer{header: http.Header{"X-Acs-Request-Id": {strings.Repeat("H", 200)}}}, strings.Repeat("H", 128)},
	} {
		if got := tt.answer.requestID(); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// TestReadAnswer: the text of an answer is kept where somebody needs it, and the whole of it is read in any case.
func TestReadAnswer(t *testing.T) {
	id := http.Header{"X-Acs-Request-Id": {"H"}}
	const text = `{"RequestId":"B"}`
	for name, tt := range map[string]struct {
		status int
		header http.Header
		needed bool
		lost   error // in the middle of the text
		kept   bool
	}{
		"needed":                   {status: 200, header: id, needed: true, kept: true},
		"a refusal":                {status: 400, header: id, kept: true},
		"without the id elsewhere": {status: 200, kept: true},
		"a change that is done":    {status: 200, header: id},
		"lost, needed":             {status: 200, header: id, needed: true, lost: io.ErrUnexpectedEOF},
		"lost, not needed":         {status: 200, header: id, lost: io.ErrUnexpectedEOF},
	} {
		rest := io.Reader(strings.NewReader(""))
		if tt.lost != nil {
			rest = iotest.ErrReader(tt.lost)
		}
		body := io.MultiReader(strings.NewReader(text), rest)
		got, err := readAnswer(&http.Response{StatusCode: tt.status, Header: tt.header, Body: io.NopCloser(body)}, tt.needed, nil)
		if !errors.Is(err, tt.lost) || (got == nil) != (tt.lost != nil) {
			t.Errorf("%s: got %+v, %v", name, got, err)
			continue
		}
		if got != nil && (string(got.body) == text) != tt.kept {
			t.Errorf("%s: kept %q", name, got.body)
		}
		if left, _ := io.ReadAll(body); tt.lost == nil && len(left) > 0 {
			t.Errorf("%s: %q was not read", name, left)
		}
	}
}

// FuzzAnswer feeds whatever a proxy or a broken cloud may send: it must be classified, and hints must stay within bounds.
func FuzzAnswer(f *testing.F) {
	f.Add(400, `{"RequestId":"R","Code":"Throttling","Message":"slow down"}`, "100", "Limit:1,TimeLeft:2000")
	f.Add(502, "<html>bad gateway</html>", "", "")
	f.Add(400, `{"Code":1}`, "-5", "TimeLeft")
	f.Add(200, "", "9223372036854775807", "TimeLeft:9223372036854775807")
	f.Fuzz(func(t *testing.T, status int, body, after, limit string) {
		a := &answer{status: status, body: []byte(body), header: http.Header{"X-Acs-Retry-After": {after},
			"X-Ratelimit-User": {limit}, "Retry-After": {after}}}
		refusal := a.failure(Call{Product: SLB, Action: "CreateLoadBalancer", Mutating: true})
		if refusal.RetryAfter < 0 || refusal.RetryAfter > maxRetryAfter {
			t.Errorf("retry after %s", refusal.RetryAfter)
		}
		e := catalogue.Error(refusal)
		if e.Reason == "" || e.Message == "" {
			t.Errorf("error %+v lacks a reason or a message", e)
		}
		if len(e.Message) > 1000 {
			t.Errorf("message of %d bytes", len(e.Message))
		}
		a.requestID()
	})
}

// TestSuccessThatIsNone: an answer of NLB with the status 200 may say that the call has failed.
func TestSuccessThatIsNone(t *testing.T) {
	for body, want := range map[string]bool{
		`{"RequestId":"R","Success":true,"JobId":"j"}`: true, `{"RequestId":"R","Success":false,"Code":"Conflict.Lock"}`: false,
		`{"RequestId":"R", "Success" : false}`: false, `{"RequestId":"R","Items":[{"Success":false}]}`: true, `{"RequestId":"R"}`: true, ``: true,
	} {
		if got := (&answer{status: 200, body: []byte(body)}).ok(); got != want {
			t.Errorf("%s: got %t", body, got)
		}
	}
}
