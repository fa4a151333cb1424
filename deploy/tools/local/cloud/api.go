package cloud

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // The signature of the OpenAPI is HMAC-SHA1.
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// API calls actions of the simulated OpenAPI as an operator at the console does, behind the back of the gateway.
type API struct {
	URL                          string
	Version                      string
	AccessKeyID, AccessKeySecret string
}

// Refusal is an answer of the cloud that is an error.
type Refusal struct {
	Action string
	Status int // of HTTP
	Code   string
	Text   string // the whole answer, as it came
}

// Error implements error.
func (r *Refusal) Error() string { return fmt.Sprintf("%s: status %d: %s", r.Action, r.Status, r.Text) }

// again is the time between two attempts of Insist, and insistFor how long it makes them.
const (
	again     = 100 * time.Millisecond
	insistFor = 2 * time.Minute
)

// Insist carries out an action however often faults strike it, until the cloud obeys or refuses with done, a code by which it says
// that there is nothing left to do. The action must be one that may be repeated. It gives up after two minutes, or when ctx ends, with
// what the cloud said last.
func (a API) Insist(ctx context.Context, action, done string, params map[string]string) error {
	ctx, cancel := context.WithTimeout(ctx, insistFor)
	defer cancel()
	ticker := time.NewTicker(again)
	defer ticker.Stop()
	var last error
	for {
		err := a.Call(ctx, action, params)
		if refusal, ok := errors.AsType[*Refusal](err); err == nil || ok && refusal.Code == done {
			return nil
		}
		if ctx.Err() == nil || last == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return last
		case <-ticker.C:
		}
	}
}

// Call carries out one action, once. What the cloud refuses is a *Refusal.
func (a API) Call(ctx context.Context, action string, params map[string]string) error {
	query := url.Values{}
	for name, value := range maps.All(params) {
		query.Set(name, value)
	}
	for name, value := range map[string]string{
		"Action": action, "Version": a.Version, "Format": "JSON", "AccessKeyId": a.AccessKeyID,
		"SignatureMethod": "HMAC-SHA1", "SignatureVersion": "1.0", "SignatureNonce": rand.Text(),
		"Timestamp": time.Now().UTC().Format("2006-01-02T15:04:05Z"),
	} {
		query.Set(name, value)
	}
	// What is signed is escaped as in RFC 3986, twice.
	canonical := strings.ReplaceAll(query.Encode(), "+", "%20")
	mac := hmac.New(sha1.New, []byte(a.AccessKeySecret+"&"))
	_, _ = mac.Write([]byte("GET&%2F&" + strings.ReplaceAll(url.QueryEscape(canonical), "+", "%20")))
	query.Set("Signature", base64.StdEncoding.EncodeToString(mac.Sum(nil)))

	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.URL+"/?"+query.Encode(), nil)
	if err != nil {
		return fmt.Errorf("%s: %w", action, err)
	}
	req.Header.Set("User-Agent", "operator")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("%s: %w", action, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
		refusal := &Refusal{Action: action, Status: resp.StatusCode, Text: string(text)}
		var body struct{ Code string }
		if json.Unmarshal(text, &body) == nil { // A proxy's answer has no code.
			refusal.Code = body.Code
		}
		return refusal
	}
	return nil
}
