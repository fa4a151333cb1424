package world

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"alicloud-controllers.dev/deploy/chart"
)

// Audience is what the gateway expects in the tokens of its callers.
const Audience = "cloudgateway"

// Kubeconfig is a file with which everything is allowed.
func (w *World) Kubeconfig() string { return w.path("kubeconfig") }

// writeKubeconfig writes a kubeconfig with either a token or a file that holds one.
func (w *World) writeKubeconfig(path, user string, auth clientcmdapi.AuthInfo) error {
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters["world"] = &clientcmdapi.Cluster{
		Server: "https://" + w.addresses["kube-apiserver"], CertificateAuthority: w.caFile,
	}
	cfg.AuthInfos[user] = &auth
	cfg.Contexts["world"] = &clientcmdapi.Context{Cluster: "world", AuthInfo: user}
	cfg.CurrentContext = "world"
	if err := clientcmd.WriteToFile(*cfg, path); err != nil {
		return fmt.Errorf("write kubeconfig of %s: %w", user, err)
	}
	return nil
}

// grant gives every component what the chart gives it: its ServiceAccount with its permissions, and tokens for the API server
// and the gateway, which are what a projected volume is to a pod.
func (w *World) grant(ctx context.Context) error {
	for _, component := range chart.Components() {
		rbac, err := chart.RBAC(component)
		if err != nil {
			return err
		}
		if err := w.Apply(ctx, rbac); err != nil {
			return fmt.Errorf("grant %s its permissions: %w", component, err)
		}
		auth := clientcmdapi.AuthInfo{TokenFile: w.tokenFile(component, "kubernetes")}
		if err := w.writeKubeconfig(w.componentKubeconfig(component), component, auth); err != nil {
			return err
		}
	}
	if w.cfg.Front {
		if err := w.grantFront(ctx); err != nil {
			return err
		}
	}
	if w.cfg.GatewayAPI {
		if err := w.serveGateways(ctx); err != nil {
			return err
		}
	}
	return w.renewTokens(ctx)
}

func (w *World) componentKubeconfig(component string) string {
	return w.path("secrets", component+".kubeconfig")
}

func (w *World) tokenFile(component, audience string) string {
	return w.path("secrets", component+"-"+audience+".token")
}

// tokenLifetime is that of projected tokens.
const tokenLifetime = time.Hour

func (w *World) renewTokens(ctx context.Context) error {
	for _, component := range chart.Components() {
		for file, audience := range map[string]string{"kubernetes": issuer, "gateway": Audience} {
			token, err := w.Token(ctx, chart.Namespace, component, audience)
			if err != nil {
				return err
			}
			if err := replaceFile(w.tokenFile(component, file), []byte(token)); err != nil {
				return err
			}
		}
	}
	return nil
}

// keepTokens renews the tokens at half of their lifetime until ctx ends.
func (w *World) keepTokens(ctx context.Context) {
	ticker := time.NewTicker(tokenLifetime / 2)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			err := w.renewTokens(ctx)
			if w.cfg.Front {
				err = errors.Join(err, w.renewFrontToken(ctx))
			}
			if err != nil && ctx.Err() == nil {
				w.say("tokens are not renewed: %v", err)
			}
		}
	}
}

// Token asks the API server for a token of a ServiceAccount.
func (w *World) Token(ctx context.Context, namespace, account, audience string) (string, error) {
	seconds := int64(tokenLifetime / time.Second)
	request := &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{Audiences: []string{audience}, ExpirationSeconds: &seconds},
	}
	answer, err := w.client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, account, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("request token of %s for %s: %w", account, audience, err)
	}
	return answer.Status.Token, nil
}

// replaceFile lets readers see the old content or the new one, never half of it.
func replaceFile(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path))
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = tmp.Write(data)
	if err := errors.Join(err, tmp.Close(), os.Rename(tmp.Name(), path)); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// Apply creates the objects of YAML documents; those that exist stay as they are.
func (w *World) Apply(ctx context.Context, documents []byte) error {
	decoder := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(documents)))
	for {
		doc, err := decoder.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("split manifest: %w", err)
		}
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(doc, nil, nil)
		if err != nil {
			return fmt.Errorf("decode manifest: %w", err)
		}
		if err := w.create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
}

func (w *World) create(ctx context.Context, object any) error {
	var err error
	opts := metav1.CreateOptions{}
	switch o := object.(type) {
	case *corev1.ServiceAccount:
		_, err = w.client.CoreV1().ServiceAccounts(o.Namespace).Create(ctx, o, opts)
	case *corev1.Service:
		_, err = w.client.CoreV1().Services(namespaceOf(o)).Create(ctx, o, opts)
	case *appsv1.Deployment:
		_, err = w.client.AppsV1().Deployments(namespaceOf(o)).Create(ctx, o, opts)
	case *rbacv1.ClusterRole:
		_, err = w.client.RbacV1().ClusterRoles().Create(ctx, o, opts)
	case *rbacv1.ClusterRoleBinding:
		_, err = w.client.RbacV1().ClusterRoleBindings().Create(ctx, o, opts)
	case *rbacv1.Role:
		_, err = w.client.RbacV1().Roles(o.Namespace).Create(ctx, o, opts)
	case *rbacv1.RoleBinding:
		_, err = w.client.RbacV1().RoleBindings(o.Namespace).Create(ctx, o, opts)
	default:
		return fmt.Errorf("create %T: the local world does not know this kind", object)
	}
	return err
}

func namespaceOf(o metav1.Object) string {
	if ns := o.GetNamespace(); ns != "" {
		return ns
	}
	return metav1.NamespaceDefault
}
