package annotation

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// FuzzSecrets: whatever a user writes, all Secrets that a port may have are among those of the Service, and each name means
// one Secret, which is written in that way. A name that is accepted has one slash at most.
func FuzzSecrets(f *testing.F) {
	for _, seed := range [][3]string{
		{"web", "secret/more,1-cn", "a.example.com:secret/x"},
		{"443:red/web,8443:web", "443:secret/red/more", "443:a:secret/red/x"},
		{"a/b/c", "secret//", "secret/"}, {"/", "443:", ":"}, {"infra/web", "secret/infra/web", ""},
		{"443:red/web,443:blue/web", "secret/", "a:b"},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, tls, further, domains string) {
		const home = "infra"
		written := map[string]string{Prefix + TLSSecret: tls, Prefix + AdditionalCertIDs: further, Prefix + DomainExtensions: domains}
		all := Secrets(written)
		for _, name := range all {
			secret := SecretIn(home, name)
			if strings.Contains(secret.Name, "/") {
				continue // No Secret has such a name.
			}
			if again := NameSecret(home, secret); SecretIn(home, again) != secret || secret.Namespace != home && again != name {
				t.Errorf("%q means %q, which is written %q", name, secret, again)
			}
		}
		if !SameSecrets(written, written) || SameSecrets(written, map[string]string{Prefix + TLSSecret: tls + "x"}) {
			t.Error("who names the same?")
		}
		for _, kind := range []LoadBalancer{CLB, NLB} {
			values, _ := NewParser(kind).Parse(written)
			for _, port := range []int32{443, 8443} {
				at := values.ForPort(port)
				certificates, named := slices.Clone(at.List(AdditionalCertIDs)), []string(nil)
				for _, p := range at.Pairs(DomainExtensions) {
					certificates = append(certificates, p.Value)
				}
				for _, c := range certificates {
					if name, ok := SecretName(c); ok {
						named = append(named, name)
					}
				}
				secret := at.Text(TLSSecret)
				if strings.Count(secret, "/") > 1 || strings.HasPrefix(secret, "/") || strings.HasSuffix(secret, "/") {
					t.Errorf("%q is accepted", secret)
				}
				for _, name := range append(named, secret) {
					if name != "" && !slices.Contains(all, name) {
						t.Errorf("port %d has Secret %q, which is not among %q", port, name, all)
					}
				}
			}
		}
	})
}

// TestSecretIn: a slash makes it a Secret of another namespace, unless it names that of the Service.
func TestSecretIn(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]types.NamespacedName{
		"web": {Namespace: "infra", Name: "web"}, "infra/web": {Namespace: "infra", Name: "web"}, "red/web": {Namespace: "red", Name: "web"},
		"/web": {Name: "web"}, "red/": {Namespace: "red"}, "a/b/c": {Namespace: "a", Name: "b/c"},
	} {
		if got := SecretIn("infra", text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
