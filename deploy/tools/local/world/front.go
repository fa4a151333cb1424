package world

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FrontUser is who calls through the OpenAPI front, and FrontAudience what its token is made for.
const (
	FrontUser     = "tool"
	frontSpace    = "tools"
	FrontAudience = "sts.aliyuncs.com"
)

// frontAccess lets the tool call everything, since a role without names of actions does.
const frontAccess = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: ` + FrontUser + `, namespace: ` + frontSpace + `}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: front-tool}
rules:
  - {apiGroups: [cloudgateway.alibabacloud.com], resources: [openapi], verbs: [call]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: front-tool}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: front-tool}
subjects:
  - {kind: ServiceAccount, name: ` + FrontUser + `, namespace: ` + frontSpace + `}
`

// frontPair is the key pair of the tool.
type frontPair struct{ id, secret string }

// makeFrontPair writes the file of key pairs, with a secret for sessions.
func (w *World) makeFrontPair() error {
	w.front = frontPair{id: "tool", secret: rand.Text() + rand.Text()}
	text := fmt.Sprintf("keys: [{id: %s, secret: %s, user: %q}]\nsessionSecrets: [%s]\n", w.front.id, w.front.secret,
		"system:serviceaccount:"+frontSpace+":"+FrontUser, rand.Text()+rand.Text())
	if err := os.WriteFile(w.frontKeys(), []byte(text), 0o600); err != nil {
		return fmt.Errorf("write the key pair of the front: %w", err)
	}
	return nil
}

func (w *World) frontKeys() string { return w.path("secrets", "front-keys.yaml") }

func (w *World) frontTokenFile() string { return w.path("secrets", "front-token") }

// grantFront gives the tool its rights, and the token that RRSA would put into its pod.
func (w *World) grantFront(ctx context.Context) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: frontSpace}}
	if _, err := w.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("make the namespace of a tool: %w", err)
	}
	if err := w.Apply(ctx, []byte(frontAccess)); err != nil {
		return fmt.Errorf("let a tool call through the front: %w", err)
	}
	return w.renewFrontToken(ctx)
}

func (w *World) renewFrontToken(ctx context.Context) error {
	token, err := w.Token(ctx, frontSpace, FrontUser, FrontAudience)
	if err != nil {
		return err
	}
	return replaceFile(w.frontTokenFile(), []byte(token))
}

// frontSection is that of the gateway's configuration.
func (w *World) frontSection() section {
	return section{"listen": w.addresses["front"], "keysFile": w.frontKeys()}
}

// FrontAddress is where tools call, by a name of the gateway's certificate.
func (w *World) FrontAddress() string {
	return net.JoinHostPort("localhost", port(w.addresses["front"]))
}

// frontListens gives nil when a tool can connect to the front. The gateway's /readyz doesn't say it: a standby is ready, and only the
// active replica has the front's port open.
func (w *World) frontListens(ctx context.Context) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", w.addresses["front"])
	if err != nil {
		return fmt.Errorf("connect to the OpenAPI front: %w", err)
	}
	return conn.Close()
}

// allOf gives nil when all checks do, and the first error otherwise.
func allOf(checks ...func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		for _, check := range checks {
			if err := check(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}

// frontEnv is what a tool needs.
func (w *World) frontEnv() []variable {
	return []variable{
		{"FRONT_ENDPOINT", w.FrontAddress()}, {"FRONT_ACCESS_KEY_ID", w.front.id}, {"FRONT_ACCESS_KEY_SECRET", w.front.secret},
		{"FRONT_OIDC_TOKEN_FILE", w.frontTokenFile()},
	}
}
