package bench

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

// kubernetes is an API server that knows every token and allows everything.
func kubernetes(t testing.TB) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost {
			_, _ = io.WriteString(w, `{"gitVersion":"v1.37.2"}`) // the reader may be gone
			return
		}
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
		if err != nil {
			t.Errorf("%s: %v", r.URL.Path, err)
			return
		}
		switch review := object.(type) {
		case *authenticationv1.TokenReview:
			review.APIVersion, review.Kind = "authentication.k8s.io/v1", "TokenReview"
			review.Status.User.Username = "system:serviceaccount:kube-system:lbcontroller"
			review.Status.Authenticated, review.Status.Audiences = true, review.Spec.Audiences
		case *authorizationv1.SubjectAccessReview:
			review.APIVersion, review.Kind = "authorization.k8s.io/v1", "SubjectAccessReview"
			review.Status.Allowed = true
		}
		if err := json.NewEncoder(w).Encode(object); err != nil {
			t.Error(err)
		}
	})
}
