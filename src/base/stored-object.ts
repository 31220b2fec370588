import { z } from 'zod';

/**
 * The schema of an object that is stored: fields that it does not name are kept, because a newer gateway may have written
 * them. Its type names only the known ones.
 */
export function storedObject<Shape extends z.core.$ZodLooseShape>(shape: Shape): z.ZodObject<Shape> {
  return z.looseObject(shape);
}
