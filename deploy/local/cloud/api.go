package cloud

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // The signature of the OpenAPI is HMAC-SHA1.
	"encoding/base64"
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

// Call carries out one action.
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
		return fmt.Errorf("%s: %s: %s", action, resp.Status, text)
	}
	return nil
}
