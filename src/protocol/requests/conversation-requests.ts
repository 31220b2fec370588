import { z } from 'zod';
import { isObject } from '../../base/json.ts';
import { boundedList, pickSchema } from './parse.ts';
import { inputItem } from './request-input.ts';
import { metadata } from './requests.ts';

/** The bodies of `/v1/conversations` (docs/api.md, "Conversations"). */

const MAX_ITEMS = 20;

export const createConversationBody = z.object({
  items: boundedList(inputItem, { max: MAX_ITEMS }).optional(),
  metadata: metadata.optional(),
});

const requiredMetadata = pickSchema((value) =>
  isObject(value) ? metadata : { refuse: 'invalid_parameter', message: 'expected an object' },
).meta({ type: 'object', additionalProperties: true, description: 'Free-form, at most 16 KiB as JSON.' });

export const updateConversationBody = z.object({ metadata: requiredMetadata });

export const createConversationItemsBody = z.object({ items: boundedList(inputItem, { min: 1, max: MAX_ITEMS }) });
