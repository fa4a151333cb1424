package lb

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"alicloud-controllers.dev/lbcontroller/internal/certificate"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
)

// sweptStore has two certificates that nobody needs.
type sweptStore struct {
	inUse   func(ids []string) []string
	deleted []string
}

func (*sweptStore) StoredCertificates(context.Context, string, string) ([]certificate.Stored, error) {
	return []certificate.Stored{{ID: "1-cn-hangzhou", Fingerprint: "aaaa"}, {ID: "2-cn-hangzhou", Fingerprint: "bbbb"}}, nil
}

func (*sweptStore) UploadCertificate(context.Context, string, certificate.Certificate, string) (string, error) {
	return "", nil
}

func (s *sweptStore) CertificatesInUse(_ context.Context, ids []string) ([]string, error) {
	return s.inUse(ids), nil
}

func (s *sweptStore) DeleteCertificate(_ context.Context, id string) error {
	s.deleted = append(s.deleted, id)
	return nil
}

func (*sweptStore) WithCertificates(l model.Listener, _ func(string) string) model.Listener { return l }

// TestNeededMeanwhile: what a Service comes to need while it is read which listeners use certificates is not deleted, whether the Service
// knows the id or only the content. Nor is what a listener uses.
func TestNeededMeanwhile(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		needs, uses string
		want        []string
	}{
		"nobody needs them":      {want: []string{"1-cn-hangzhou", "2-cn-hangzhou"}},
		"by the id":              {needs: "1-cn-hangzhou", want: []string{"2-cn-hangzhou"}},
		"by the content":         {needs: certificate.Placeholder("bbbb" + "0123"), want: []string{"1-cn-hangzhou"}},
		"a listener of a user's": {uses: "2-cn-hangzhou", want: []string{"1-cn-hangzhou"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			known := &certificates{used: map[string]int{}, missing: map[string]bool{}, wake: make(chan struct{}, 1)}
			store := &sweptStore{inUse: func([]string) []string {
				if tt.needs != "" {
					known.Use([]string{tt.needs}, nil)
				}
				return []string{tt.uses}
			}}
			u := &uploads{store: store, certs: known, logger: slog.New(slog.DiscardHandler), grace: time.Hour, ids: map[string]string{}}
			long := time.Now().Add(-2 * time.Hour)
			since, err := u.sweep(t.Context(), map[string]time.Time{"1-cn-hangzhou": long, "2-cn-hangzhou": long})
			if err != nil || !slices.Equal(store.deleted, tt.want) {
				t.Errorf("deleted %v, %v; want %v", store.deleted, err, tt.want)
			}
			if tt.uses != "" && !since[tt.uses].After(long) {
				t.Errorf("the grace of %s doesn't begin anew: %s", tt.uses, since[tt.uses])
			}
		})
	}
}
