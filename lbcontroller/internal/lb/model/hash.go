package model

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"strings"

	"google.golang.org/protobuf/proto"
)

// HashVersion makes every hash differ when the meaning of the hashed parts changes. A differing hash costs one full read.
const HashVersion = "v1."

// ConfigHash is a digest of everything wanted but the servers, short enough for a label. It binds the Service's identity, so
// that a copied label never matches.
func (d *Desired) ConfigHash() (string, error) {
	h := sha256.New224()
	names := make([]string, len(d.Groups))
	for i, g := range d.Groups {
		names[i] = g.Name
	}
	identity := []any{d.Owner, d.UID, d.Instance.Asked, names}
	if d.Reuse.ID != "" {
		identity = append(identity, d.Reuse.ID, d.Reuse.Listeners)
	}
	if d.Access != nil && len(d.Access.Entries) > 0 {
		identity = append(identity, d.Access)
	}
	if b := d.Binding; b.IsAsked() {
		identity = append(identity, b.ID, b.Own)
	}
	if err := json.NewEncoder(h).Encode(identity); err != nil {
		return "", fmt.Errorf("hash the configuration: %w", err)
	}
	var spec proto.Message = d.Instance.Spec
	if d.Instance.Identity != nil {
		spec = d.Instance.Identity
	}
	if err := hashMessage(h, spec); err != nil {
		return "", err
	}
	for _, g := range d.Groups {
		if g.Config == nil {
			continue // The hash of a Service whose groups have no attributes is what it was before there were any.
		}
		h.Write([]byte(g.Shape)) // A hash never fails to write.
		if err := hashMessage(h, g.Config); err != nil {
			return "", err
		}
	}
	for _, l := range d.Listeners {
		if err := json.NewEncoder(h).Encode([]any{l.Key, l.Group}); err != nil {
			return "", fmt.Errorf("hash listener %d: %w", l.Key.Port, err)
		}
		if err := hashMessage(h, l.Config); err != nil {
			return "", err
		}
		if l.Further == nil {
			continue // The hash of a Service without any is what it was before there were any.
		}
		if err := json.NewEncoder(h).Encode(hashed(l.Further)); err != nil {
			return "", fmt.Errorf("hash the further certificates of listener %d: %w", l.Key.Port, err)
		}
	}
	return HashVersion + hex.EncodeToString(h.Sum(nil)), nil
}

// hashed are further certificates as they were when hashes of them were first written on Services.
func hashed(list []FurtherCertificates) any {
	type extension struct{ ID, Domain, Certificate string }
	extensions := make([]extension, len(list))
	for i, f := range list {
		extensions[i] = extension{f.ID, f.For(), strings.Join(f.Certificates, ",")}
		if f.Domain == "" {
			extensions[i].ID = f.For()
		}
	}
	return extensions
}

func hashMessage(h hash.Hash, m proto.Message) error {
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return fmt.Errorf("hash the configuration: %w", err)
	}
	h.Write(data) // A hash never fails to write.
	return nil
}
