package quotas_test

import (
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
	"alicloud-controllers.dev/cloudgateway/openapisim/quotas"
)

func TestMain(m *testing.M) { apitest.Main(m, quotas.Product(nil)) }
