/** A page or action of the admin area, and the access it needs. */
import type { Device, SignedInOperator } from '../../actions/operators/manage-sessions.ts'
import type { Actor } from '../../actions/audit.ts'
import { hasRight, type Right } from '../../actions/operators/rights.ts'
import type { Service } from '../../actions/service.ts'
import type { Form } from './form.ts'

/** A request that may come without a session. */
export type PublicRequest = {
  readonly service: Service
  readonly raw: Request
  readonly path: string
  /** A path parameter, such as `:id`; empty when the path has none of that name. */
  readonly param: (name: string) => string
  /** A query parameter without characters PostgreSQL cannot hold, cut to 400 characters; empty when absent. */
  readonly query: (name: string) => string
  readonly form: Form
  readonly device: Device
  /** The value of the `_token` field in every form. */
  readonly formToken: string
  readonly me: SignedInOperator | undefined
}

export type AdminRequest = PublicRequest & { readonly me: SignedInOperator; readonly actor: Actor }

/** A right, or a stage of signing in: `code` and `enrol` mean the password was right and the second factor is next. */
export type Access = 'code' | 'enrol' | Right

export type AdminRoute = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** Set on forms that carry a file. */
  readonly maxFormBytes?: number
} & (
  | { readonly access: 'public'; readonly handle: (request: PublicRequest) => Promise<Response> }
  | { readonly access: Access; readonly handle: (request: AdminRequest) => Promise<Response> }
)

export type Handle = (request: AdminRequest) => Promise<Response>

/** A page that every operator may see, unless `access` says otherwise. */
export function get(path: string, handle: Handle, access: Access = 'view'): AdminRoute {
  return { method: 'GET', path, access, handle }
}

/** A route that changes something. */
export function post(path: string, handle: Handle, access: Access): AdminRoute {
  return { method: 'POST', path, access, handle }
}

/** Whether the operator has the right. Pages do not offer actions the operator may not take. */
export function may({ me }: AdminRequest, right: Right): boolean {
  return hasRight(me.operator.role, right)
}
