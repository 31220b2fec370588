import { GatewayError } from '../../../base/errors.ts';
import type { Endpoint } from '../../endpoint.ts';

/** An endpoint for keys with `admin: true`; to others there is nothing at its address. */
export function forAdmins(endpoint: Endpoint): Endpoint {
  return async (call) => {
    if (!call.identity.key.admin) throw new GatewayError('not_found', 'There is nothing at this address.');
    return await endpoint(call);
  };
}
