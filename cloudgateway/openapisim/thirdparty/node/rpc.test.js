'use strict';

// The clients of the classic style: version 1 of the signature, actions by their names, whatever is sent and answered.

const assert = require('node:assert');
const test = require('node:test');
require('./network');
const Pop = require('@alicloud/pop-core');
const { default: Rpc } = require('@alicloud/rpc-client');

const { keys, region } = require('./account');

const pop = (product, version, credentials = keys) =>
  new Pop({ ...credentials, endpoint: `https://${product}.${region}.aliyuncs.com`, apiVersion: version });
const slb = () => pop('slb', '2014-05-15');

// refused checks everything that users quote from an error to the cloud's support.
async function refused(call, code, host = `slb.${region}.aliyuncs.com`) {
  const error = await call.then(() => assert.fail(`not refused with ${code}`), (e) => e);
  assert.strictEqual(error.code, code, error.stack);
  assert.match(error.data.RequestId, /^[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}$/);
  assert.strictEqual(error.data.HostId, host);
  assert.ok(error.data.Message && error.data.Recommend);
}

for (const method of ['GET', 'POST']) {
  test(`pop-core makes a load balancer with everything by ${method}`, async () => {
    const client = slb();
    const call = (action, params) => client.request(action, { RegionId: region, ...params }, { method, timeout: 20000 });

    const { LoadBalancerId } = await call('CreateLoadBalancer', {
      LoadBalancerName: `ü!'()*~+ ${method}`, AddressType: 'internet', InstanceChargeType: 'PayByCLCU', Tag: [{ Key: 'k', Value: `v${method}` }],
      NobodyKnowsThis: 'x',
    });
    const found = await call('DescribeLoadBalancers', { Tag: [{ Key: 'k', Value: `v${method}` }] });
    assert.deepStrictEqual(found.LoadBalancers.LoadBalancer.map((lb) => lb.LoadBalancerName), [`ü!'()*~+ ${method}`]);

    const servers = JSON.stringify([1, 2].map((n) => ({ ServerId: `i-${n}`, Port: 80, Weight: 100 })));
    const group = await call('CreateVServerGroup', { LoadBalancerId, VServerGroupName: 'web', BackendServers: servers });
    assert.strictEqual(group.BackendServers.BackendServer.length, 2);
    const { AclId } = await call('CreateAccessControlList', { AclName: `office-${method}` });
    await call('AddAccessControlListEntry', { AclId, AclEntrys: JSON.stringify([{ entry: '10.0.0.0/8', comment: 'office' }]) });
    const { ServerCertificateId } = await call('UploadServerCertificate', {
      ServerCertificate: process.env.CERTIFICATE, PrivateKey: process.env.CERTIFICATE_KEY, ServerCertificateName: 'example',
    });

    const common = { LoadBalancerId, Bandwidth: -1, VServerGroupId: group.VServerGroupId };
    const web = { ...common, StickySession: 'off', HealthCheck: 'off' };
    await call('CreateLoadBalancerTCPListener', { ...common, ListenerPort: 22, AclId, AclType: 'white', AclStatus: 'on' });
    await call('CreateLoadBalancerUDPListener', { ...common, ListenerPort: 53 });
    await call('CreateLoadBalancerHTTPListener', { ...web, ListenerPort: 80 });
    await call('CreateLoadBalancerHTTPSListener', { ...web, ListenerPort: 443, ServerCertificateId });
    for (const ListenerPort of [22, 53, 80, 443]) {
      await call('StartLoadBalancerListener', { LoadBalancerId, ListenerPort });
    }
    const { DomainExtensionId } = await call('CreateDomainExtension', { LoadBalancerId, ListenerPort: 443, Domain: 'example.com', ServerCertificateId });
    const rules = JSON.stringify([{ RuleName: 'api', Domain: 'example.com', Url: '/api', VServerGroupId: group.VServerGroupId }]);
    await call('CreateRules', { LoadBalancerId, ListenerPort: 80, RuleList: rules });

    const listeners = await call('DescribeLoadBalancerListeners', { LoadBalancerId: [LoadBalancerId] });
    assert.deepStrictEqual(listeners.Listeners.map((l) => [l.ListenerPort, l.ListenerProtocol, l.Status]).sort((a, b) => a[0] - b[0]), [
      [22, 'tcp', 'running'], [53, 'udp', 'running'], [80, 'http', 'running'], [443, 'https', 'running'],
    ]);
    const extensions = await call('DescribeDomainExtensions', { LoadBalancerId, ListenerPort: 443 });
    assert.strictEqual(extensions.DomainExtensions.DomainExtension[0].DomainExtensionId, DomainExtensionId);
    const acl = await call('DescribeAccessControlListAttribute', { AclId });
    assert.strictEqual(acl.AclEntrys.AclEntry[0].AclEntryIP, '10.0.0.0/8');
    assert.strictEqual(acl.RelatedListeners.RelatedListener[0].ListenerPort, 22);
    const health = await call('DescribeHealthStatus', { LoadBalancerId });
    assert.ok(health.BackendServers.BackendServer.length > 0);

    await refused(call('DeleteVServerGroup', { VServerGroupId: group.VServerGroupId }), 'RspoolVipExist');
    await call('DeleteLoadBalancer', { LoadBalancerId });
    await refused(call('DescribeLoadBalancerAttribute', { LoadBalancerId }), 'InvalidLoadBalancerId.NotFound');
    await call('DeleteServerCertificate', { ServerCertificateId });
    await call('DeleteAccessControlList', { AclId });
  });
}

test('pop-core shows why it was refused', async () => {
  await refused(slb().request('NoSuchAction'), 'InvalidAction.NotFound');
  await refused(slb().request('DeleteLoadBalancer'), 'MissingParameter');
  await refused(pop('slb', '2011-01-01').request('DescribeRegions'), 'InvalidVersion');
  await refused(pop('slb', '2014-05-15', { ...keys, accessKeySecret: 'wrong' }).request('DescribeRegions'), 'SignatureDoesNotMatch');
  await refused(pop('slb', '2014-05-15', { ...keys, accessKeyId: 'LTAIwrong' }).request('DescribeRegions'), 'InvalidAccessKeyId.NotFound');
  await refused(slb().request('DescribeRegions', { Timestamp: '2020-01-01T00:00:00Z' }), 'InvalidTimeStamp.Expired');
  const nonce = { SignatureNonce: 'once' };
  await slb().request('DescribeRegions', nonce);
  await refused(slb().request('DescribeRegions', nonce), 'SignatureNonceUsed');
});

test('pop-core finds products and assumes a role', async () => {
  const location = new Pop({ ...keys, endpoint: 'https://location-readonly.aliyuncs.com', apiVersion: '2015-06-12' });
  const found = await location.request('DescribeEndpoints', { Id: region, ServiceCode: 'ecs', Type: 'openAPI' });
  assert.strictEqual(found.Success, true);
  assert.strictEqual(found.Endpoints.Endpoint.length, 1);

  const role = { RoleArn: 'acs:ram::1000000000000001:role/reader', RoleSessionName: 'session' };
  const { Credentials: session } = await pop('sts', '2015-04-01').request('AssumeRole', role, { method: 'POST' });
  const asRole = { accessKeyId: session.AccessKeyId, accessKeySecret: session.AccessKeySecret, securityToken: session.SecurityToken };
  const identity = await pop('sts', '2015-04-01', asRole).request('GetCallerIdentity');
  assert.strictEqual(identity.Arn, 'acs:ram::1000000000000001:assumed-role/reader/session');
  const ecs = pop('ecs', '2014-05-26', { ...asRole, securityToken: 'wrong' });
  await refused(ecs.request('DescribeRegions'), 'InvalidSecurityToken.Malformed', `ecs.${region}.aliyuncs.com`);
});

test('rpc-client sends parameters in query and form', async () => {
  const client = new Rpc({ ...keys, regionId: region, endpoint: `slb.${region}.aliyuncs.com` });
  const call = (action, method, query, body) =>
    client.doRequest(action, 'HTTPS', method, '2014-05-15', 'AK', query, body, { autoretry: false, readTimeout: 20000 });
  const { LoadBalancerId } = await call('CreateLoadBalancer', 'POST', { RegionId: region }, { LoadBalancerName: 'ü*~+', InstanceChargeType: 'PayByCLCU' });
  const shown = await call('DescribeLoadBalancerAttribute', 'GET', { RegionId: region, LoadBalancerId }, null);
  assert.strictEqual(shown.LoadBalancerName, 'ü*~+');
  await call('DeleteLoadBalancer', 'POST', { RegionId: region }, { LoadBalancerId });
  const error = await call('DescribeLoadBalancerAttribute', 'GET', { LoadBalancerId }, null).then(() => assert.fail('found'), (e) => e);
  assert.strictEqual(error.code, 'InvalidLoadBalancerId.NotFoundError'); // the client appends Error
  assert.match(error.message, /requestid: [0-9A-F-]{36}/);
});
