package cluster

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"alicloud-controllers.dev/services/logging"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/certificate"
)

// secretsPatience is how long a new leader waits for the Secrets. A namespace in which they may not be read holds up nobody for longer.
const secretsPatience = 10 * time.Second

// Secrets are the watched Secrets with certificates, by namespace. No other is read.
type Secrets map[string]NamespaceSecrets

// NamespaceSecrets are the Secrets of one namespace.
type NamespaceSecrets struct {
	Factory informers.SharedInformerFactory
	store   cache.Store
	synced  cache.InformerSynced
}

// NewSecrets watches the Secrets of the configured namespaces.
func NewSecrets(client kubernetes.Interface, namespaces []string, changed func(any)) (Secrets, error) {
	secrets := Secrets{}
	for _, namespace := range namespaces {
		factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace),
			informers.WithTweakListOptions(func(o *metav1.ListOptions) {
				o.FieldSelector = fields.OneTermEqualSelector("type", string(corev1.SecretTypeTLS)).String()
			}))
		informer := factory.Core().V1().Secrets().Informer()
		if err := informer.SetTransform(trimSecret); err != nil {
			return nil, err
		}
		registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: changed, UpdateFunc: func(_, obj any) { changed(obj) }, DeleteFunc: changed,
		})
		if err != nil {
			return nil, err
		}
		secrets[namespace] = NamespaceSecrets{Factory: factory, store: informer.GetStore(), synced: registration.HasSynced}
	}
	return secrets, nil
}

// trimSecret leaves of a Secret what is needed of it.
func trimSecret(obj any) (any, error) {
	s, ok := obj.(*corev1.Secret)
	if !ok {
		return obj, nil
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name, UID: s.UID, ResourceVersion: s.ResourceVersion},
		Type:       s.Type,
		Data:       map[string][]byte{corev1.TLSCertKey: s.Data[corev1.TLSCertKey], corev1.TLSPrivateKeyKey: s.Data[corev1.TLSPrivateKeyKey]},
	}, nil
}

// Await waits until the Secrets are known, and who may use those of other namespaces, or for the patience.
func (s Secrets) Await(ctx context.Context, claims func() bool) {
	ctx, cancel := context.WithTimeout(ctx, secretsPatience)
	defer cancel()
	for _, w := range s {
		cache.WaitForCacheSync(ctx.Done(), w.synced)
	}
	if claims != nil {
		cache.WaitForCacheSync(ctx.Done(), claims)
	}
}

// Claims says whether a Service may use a Secret of another namespace. With nil none may.
type Claims func(svc *corev1.Service, secret types.NamespacedName) certificate.Claim

// secretsOf are the Secrets that a Service names. Those of other namespaces are read only if it may use them.
func (c Claims) secretsOf(svc *corev1.Service, read func(types.NamespacedName) certificate.Secret) map[string]certificate.Secret {
	var found map[string]certificate.Secret
	for _, name := range annotation.Secrets(svc.Annotations) {
		if found == nil {
			found = map[string]certificate.Secret{}
		}
		secret, claim := annotation.SecretIn(svc.Namespace, name), certificate.Refused
		switch {
		case secret.Namespace == svc.Namespace:
			found[name] = read(secret)
			continue
		case c != nil:
			claim = c(svc, secret)
		}
		s := certificate.Secret{}
		if claim == certificate.Proven {
			s = read(secret)
		}
		s.Claim = &claim
		found[name] = s
	}
	return found
}

// Of are the Secrets that a Service names.
func (s Secrets) Of(svc *corev1.Service, claims Claims) map[string]certificate.Secret {
	return claims.secretsOf(svc, s.Get)
}

// Get is a Secret, or why it can't be had.
func (s Secrets) Get(name types.NamespacedName) certificate.Secret {
	w, watched := s[name.Namespace]
	if !watched {
		return certificate.Secret{Forbidden: true}
	}
	obj, _, _ := w.store.GetByKey(name.String()) // Reading the cache never fails.
	secret, ok := obj.(*corev1.Secret)
	switch {
	case !ok && !w.synced():
		return certificate.Secret{Problem: "the Secrets of the namespace can't be read; look whether the ServiceAccount of lbcontroller may " +
			"get, list and watch them there"}
	case !ok:
		secret = &corev1.Secret{}
	}
	return secretOf(secret)
}

// secretOf is a Secret as kinds get it.
func secretOf(s *corev1.Secret) certificate.Secret {
	if s.Type != corev1.SecretTypeTLS {
		return certificate.Secret{Problem: "the namespace has no Secret of this name with type kubernetes.io/tls"}
	}
	return certificate.Secret{Chain: string(s.Data[corev1.TLSCertKey]), Key: logging.Secret(s.Data[corev1.TLSPrivateKeyKey])}
}

// ReadSecrets reads the Secrets that a Service names, for a preview. Those that the controller may not use are not read.
func ReadSecrets(ctx context.Context, client kubernetes.Interface, namespaces []string, svc *corev1.Service,
	claims Claims) map[string]certificate.Secret {
	return claims.secretsOf(svc, func(name types.NamespacedName) certificate.Secret {
		if !slices.Contains(namespaces, name.Namespace) {
			return certificate.Secret{Forbidden: true}
		}
		secret, err := client.CoreV1().Secrets(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
		if err != nil {
			return certificate.Secret{Problem: err.Error()}
		}
		return secretOf(secret)
	})
}
