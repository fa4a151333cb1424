package certificate

import (
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"time"

	"alicloud-controllers.dev/services/logging"
)

// Secret is what is known of a Secret that a Service names.
type Secret struct {
	// Chain and Key are its entries tls.crt and tls.key.
	Chain string
	Key   logging.Secret
	// Problem says, as text for users, why there is none to read; empty if there is one.
	Problem string
	// Forbidden says that the configuration lets no Secret of the namespace be read.
	Forbidden bool
	// Claim is that of the Service, if the Secret is in another namespace; nil if it is in that of the Service.
	Claim *Claim
}

// Claim says whether a Service may use a Secret of another namespace. Nothing that the Service says proves it.
type Claim int

const (
	// Refused says that the Service was not made for a Gateway that is there.
	Refused Claim = iota
	// Unproven says that it was, or that this isn't known yet, and nothing proves just now that it may use the Secret. What a
	// listener has stays.
	Unproven
	// Withdrawn says that what is known proves that it may not, or not any more. No listener may have the certificate.
	Withdrawn
	// Proven says that it may.
	Proven
)

// May reports whether the Secret may be used.
func (s Secret) May() bool { return s.Claim == nil || *s.Claim == Proven }

// Certificate is one that can be uploaded. It names nothing of the Secret: Secrets with the same content share it.
type Certificate struct {
	// Fingerprint is that of the chain. A key belongs to it, so it stands for that, too.
	Fingerprint string
	// Chain and Key are in the form that the cloud takes.
	Chain string
	Key   logging.Secret
}

// Of takes the certificate out of a Secret. What is wrong with it is a text for users.
func Of(s Secret, now time.Time) (c Certificate, problem string) {
	if s.Problem != "" {
		return c, s.Problem
	}
	pair, err := tls.X509KeyPair([]byte(s.Chain), []byte(s.Key))
	if err != nil { // The error never has a part of the key.
		return c, "its entries tls.crt and tls.key are no certificate with its key: " + err.Error()
	}
	if now.Before(pair.Leaf.NotBefore) || !now.Before(pair.Leaf.NotAfter) {
		return c, fmt.Sprintf("its certificate is valid from %s to %s only", pair.Leaf.NotBefore.UTC().Format(time.DateTime),
			pair.Leaf.NotAfter.UTC().Format(time.DateTime))
	}
	key, err := encodedKey(pair.PrivateKey)
	if err != nil {
		return c, err.Error()
	}
	var chain strings.Builder
	content := sha256.New()
	for _, der := range pair.Certificate {
		content.Write(der) // A hash never fails to write.
		chain.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	}
	return Certificate{Fingerprint: hex.EncodeToString(content.Sum(nil)), Chain: chain.String(), Key: key}, ""
}

// encodedKey is a key in the form of its algorithm: the cloud doesn't take PKCS #8.
func encodedKey(key any) (logging.Secret, error) {
	var block pem.Block
	switch k := key.(type) {
	case *rsa.PrivateKey:
		block = pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(k)}
	case *ecdsa.PrivateKey:
		der, err := x509.MarshalECPrivateKey(k)
		if err != nil {
			return "", fmt.Errorf("its key can't be encoded: %w", err)
		}
		block = pem.Block{Type: "EC PRIVATE KEY", Bytes: der}
	default:
		return "", fmt.Errorf("its key is neither RSA nor ECDSA, and the cloud takes no others")
	}
	return logging.Secret(pem.EncodeToMemory(&block)), nil
}

// placeholder stands before a fingerprint where the id of a certificate will stand.
const placeholder = "sha256:"

// Placeholder stands for the id of a certificate until that is known.
func Placeholder(fingerprint string) string { return placeholder + fingerprint }

// Placeholder is that of the certificate.
func (c Certificate) Placeholder() string { return Placeholder(c.Fingerprint) }

// IsPlaceholder tells a placeholder from an id.
func IsPlaceholder(id string) bool { return strings.HasPrefix(id, placeholder) }

// TagFingerprint is the tag of a certificate in the cloud that has its fingerprint.
const TagFingerprint = "alibabacloud.com/lbcontroller-certificate"

// nameLength is how long a name is in the cloud, and fingerprintInName how much of the fingerprint it has.
const nameLength, fingerprintInName = 80, 16

// Name is that of a certificate of a cluster in the cloud, for people.
func (c Certificate) Name(clusterID string) string { return nameOf(clusterID, c.Fingerprint) }

func nameOf(clusterID, fingerprint string) string {
	prefix := namePrefix + clusterID
	return prefix[:min(len(prefix), nameLength-fingerprintInName-1)] + "-" + shortened(fingerprint)
}

const namePrefix = "k8s-"

// shortened is what a name has of a fingerprint.
func shortened(fingerprint string) string {
	return fingerprint[:min(len(fingerprint), fingerprintInName)]
}

// MarkedByName is the name that marks a certificate where the cloud shows no tags: whose it is, nothing else says.
type MarkedByName struct {
	// ClusterID is that of the cluster, and Limit how long a name may be.
	ClusterID string
	Limit     int
}

// Of is the name of a certificate with a fingerprint. A cluster's id that would have to be cut is an error: two clusters could have the
// same name.
func (m MarkedByName) Of(fingerprint string) (string, error) {
	name := namePrefix + m.ClusterID + "-" + shortened(fingerprint)
	if len(name) > m.Limit {
		return "", fmt.Errorf("clusterID %q is too long for the names of certificates, which have %d characters at most and say whose they "+
			"are; certificates of Secrets can't be used with it", m.ClusterID, m.Limit)
	}
	return name, nil
}

// Fingerprint is what a name has of the fingerprint of a certificate of the cluster; ok is false for any other name.
func (m MarkedByName) Fingerprint(name string) (short string, ok bool) {
	short, ok = strings.CutPrefix(name, namePrefix+m.ClusterID+"-")
	_, err := hex.DecodeString(short)
	return short, ok && err == nil && len(short) == fingerprintInName
}

// IsName reports whether a certificate of the cloud has the name of one of a cluster with a fingerprint.
func IsName(name, clusterID, fingerprint string) bool {
	return fingerprint != "" && name == nameOf(clusterID, fingerprint)
}

// RequestID makes uploads of one content by several Services, or after a crash, one upload. gone is the id of an uploaded
// certificate with the content that the cloud no longer has, if one is known: the gateway would answer the request of
// before with that for an hour.
func (c Certificate) RequestID(clusterID, gone string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", clusterID, c.Fingerprint, gone))
	return "cert-" + hex.EncodeToString(sum[:20])
}

// Stored is a certificate of the cluster in the cloud. Of the fingerprint only the beginning may be known.
type Stored struct{ ID, Fingerprint string }

// Compare orders certificates.
func (s Stored) Compare(other Stored) int { return strings.Compare(s.ID, other.ID) }

// Usage is what is known of the use of the cluster's certificates.
type Usage struct {
	// Stored are those that the cloud has just shown.
	Stored []Stored
	// Needed says whether a Service needs one.
	Needed func(Stored) bool
	// Since is since when others were known to be needed by none, by id.
	Since map[string]time.Time
}

// Unused decides which certificates may be deleted: those that nobody has needed for a grace. since is what is known from now on.
func (u Usage) Unused(now time.Time, grace time.Duration) (due []Stored, since map[string]time.Time) {
	since = map[string]time.Time{}
	for _, c := range u.Stored {
		if u.Needed(c) {
			continue
		}
		first, known := u.Since[c.ID]
		if !known {
			first = now
		}
		since[c.ID] = first
		if now.Sub(first) >= grace {
			due = append(due, c)
		}
	}
	slices.SortFunc(due, Stored.Compare)
	return due, since
}
