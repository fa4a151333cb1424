package apply

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"google.golang.org/protobuf/proto"
)

// Life identifies one instance in the life of a Service.
type Life struct {
	ClusterID, UID string
	// Generation counts how often the Service gave an instance up.
	Generation string
	// Replaces is the instance that was recorded before and is gone, so that its request is never repeated.
	Replaces string
}

// RequestID is the same for the same life and content: a creation that is repeated after a crash answers the first instance.
func (l Life) RequestID(spec proto.Message) (string, error) {
	content, err := proto.MarshalOptions{Deterministic: true}.Marshal(spec)
	if err != nil {
		return "", fmt.Errorf("derive the request id: %w", err)
	}
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %q %x", l.ClusterID, l.UID, l.Generation, l.Replaces, content)
	return "lb-" + hex.EncodeToString(h.Sum(nil))[:40], nil
}
